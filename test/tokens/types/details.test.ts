import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { BinTable } from "../../../src/tokens/types/bin-table.js";
import { cardBrand } from "../../../src/tokens/types/card-brand.js";
import { bankDetails, cardDetails, enrichments, tokenDetails } from "../../../src/tokens/types/details.js";
import { tokenType } from "../../../src/tokens/types/registry.js";

const card = { number: "4242424242424242", expiration_month: 12, expiration_year: 2025, cvc: "123" };
const account = { routing_number: "021000021", account_number: "1234567890" };

describe("brands", () => {
  test.each([
    ["4242424242424242", "visa"],
    ["5555555555554444", "mastercard"],
    ["2221000000000009", "mastercard"],
    ["2720990000000007", "mastercard"],
    ["2220990000000000", undefined],
    ["2721000000000004", undefined],
    ["378282246310005", "american-express"],
    ["341111111111111", "american-express"],
    ["30569309025904", "diners-club"],
    ["36227206271667", "diners-club"],
    ["3095000000000000", "diners-club"],
    ["6011111111111117", "discover"],
    ["6445644564456445", "discover"],
    ["6500000000000002", "discover"],
    ["3530111333300000", "jcb"],
    ["3589000000000000", "jcb"],
    ["3590000000000000", undefined],
    ["2204000000000000", "mir"],
    ["2205000000000000", undefined],
    ["6200000000000005", "unionpay"],
    ["8171999927660000", "unionpay"],
    ["4011780000000000", "elo"],
    ["6500310000000000", "elo"],
    ["5066990000000000", "elo"],
    ["6277800000000000", "elo"],
    ["6062821111111111", "hipercard"],
    ["6759649826438453", undefined],
    ["9999999999999995", undefined],
  ])("are recognized: %s is %s", (number, brand) => {
    expect(cardBrand(number)).toBe(brand);
  });

  test("follow from the first six digits, and a longer range comes before a shorter one", () => {
    const digits = fc.stringMatching(/^[0-9]{0,13}$/);
    const start = fc.constantFrom("650031", "401178", "606282", "2720", "300", "65", "4", "");
    fc.assert(
      fc.property(start, digits, (first, others) => {
        const number = first + others;
        if (number.length >= 6) expect(cardBrand(number)).toBe(cardBrand(number.slice(0, 6)));
        if (first.length === 6) expect(cardBrand(number)).toBe(first === "606282" ? "hipercard" : "elo");
      }),
    );
  });
});

describe("details", () => {
  test("describe a card", () => {
    const details = { bin: "42424242", last4: "4242", expiration_month: 12, expiration_year: 2025, brand: "visa" };
    expect(cardDetails(card)).toEqual(details);
    expect(tokenDetails(tokenType("card"), card)).toEqual({ card: details });
  });

  test("describe a number with fewer than 16 digits: a BIN of six", () => {
    const details = { bin: "378282", last4: "0005", brand: "american-express" };
    expect(tokenDetails(tokenType("card_number"), "378282246310005")).toEqual({ card: details });
  });

  test("describe a brand that is not listed", () => {
    expect(cardDetails("9999999999999995")).toEqual({ bin: "99999999", last4: "9995" });
  });

  test("describe a bank account", () => {
    const details = { routing_number: "021000021", account_number_last4: "7890" };
    expect(bankDetails(account)).toEqual(details);
    expect(tokenDetails(tokenType("bank"), account)).toEqual({ bank: details });
  });

  test.each(["token", "us_bank_account_number", "us_bank_routing_number", "social_security_number"])(
    "are absent from %s",
    (type) => {
      expect(tokenDetails(tokenType(type), "123456789")).toEqual({});
      expect(enrichments(tokenType(type), "4242424242424242")).toBeUndefined();
    },
  );

  test.each([null, 5, [], {}, { number: 5 }])("do not exist for %j, which a patch may have left", (data) => {
    expect(cardDetails(data)).toBeUndefined();
    expect(bankDetails(data)).toBeUndefined();
    expect(tokenDetails(tokenType("card"), data)).toEqual({});
    expect(tokenDetails(tokenType("bank"), data)).toEqual({});
  });

  test("no detail contains the number or the cvc", () => {
    expect(JSON.stringify(cardDetails(card))).not.toMatch(/4242424242424242|"123"/);
  });
});

describe("a BIN table", () => {
  const visa = { card_brand: "VISA", type: "Credit", prepaid: false, bank: { name: "Bank" } };
  const bins = new BinTable({
    "424242": { card_brand: "VISA", type: "Debit" },
    "42424242": visa,
    "378282": { card_brand: "AMERICAN EXPRESS", type: "Credit", prepaid: true },
    "999999": { card_brand: "PRIVATE LABEL" },
    "888888": { card_brand: "UNHEARD OF", type: "Charge" },
  });

  test.each([
    ["4242424242424242", { brand: "visa", funding: "credit" }],
    ["4242421111111111", { brand: "visa", funding: "debit" }],
    ["378282246310005", { brand: "american-express", funding: "prepaid" }],
    ["9999999999999995", { brand: "private-label" }],
  ])("contains %s", (number, known) => {
    expect(cardDetails(number, bins)).toEqual({
      bin: number.slice(0, number.length < 16 ? 6 : 8),
      last4: number.slice(-4),
      ...known,
    });
  });

  test("does not override with unknown words", () => {
    expect(cardDetails("8888888888888888", bins)).toEqual({ bin: "88888888", last4: "8888" });
  });

  test("adds bin_details to the enrichments of cards only", () => {
    const type = tokenType("card");
    const cardEnrichment = { card_details: { bin: "42424242", last4: "4242" } };
    expect(enrichments(type, card)).toEqual(cardEnrichment);
    expect(enrichments(type, card, bins)).toEqual({ ...cardEnrichment, bin_details: visa });
    expect(enrichments(type, { number: "5555555555554444" }, bins)).toEqual({
      card_details: { bin: "55555555", last4: "4444" },
    });
  });

  test.each([
    [[], "must be a JSON object"],
    ["x", "must be a JSON object"],
    [{ "4242": {} }, "keys of 6 to 11 digits"],
    [{ "42424a": {} }, "keys of 6 to 11 digits"],
    [{ "424242": "VISA" }, "an object of details for 424242"],
  ])("rejects %j", (table, message) => {
    expect(() => new BinTable(table)).toThrow(message);
  });
});
