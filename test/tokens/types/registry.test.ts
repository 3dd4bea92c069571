import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ENTITY_TYPES, tokenEntityType } from "../../../src/audit/log-entry.js";
import { evaluateFingerprint } from "../../../src/expressions/fingerprint.js";
import { evaluateSearchIndexes } from "../../../src/expressions/search-indexes.js";
import { evaluateMask } from "../../../src/tokens/mask.js";
import { tokenType, tokenTypes } from "../../../src/tokens/types/registry.js";
import { faultFields } from "../../expressions/faults.js";

const lastFour = "{{ data | reveal_last: 4 }}";
const nineDigitIndexes = ["{{ data }}", "{{ data | remove: '-' }}", "{{ data | last4 }}"];

describe("the defaults of a type", () => {
  test.each([
    ["token", "Token", "/general/high/", "{{ data | stringify }}", null, []],
    [
      "card",
      "Card",
      "/pci/high/",
      "{{ data.number }}",
      {
        number: "{{ data.number | reveal_last: 4 }}",
        expiration_month: "{{ data.expiration_month }}",
        expiration_year: "{{ data.expiration_year }}",
      },
      [],
    ],
    [
      "bank",
      "Bank",
      "/bank/high/",
      "{{ data.account_number }}|{{ data.routing_number }}",
      {
        routing_number: "{{ data.routing_number }}",
        account_number: "{{ data.account_number | reveal: reveal_last: 4 }}",
      },
      [],
    ],
    ["card_number", "Card Number", "/pci/high/", "{{ data }}", lastFour, []],
    [
      "us_bank_account_number",
      "US Bank Account Number",
      "/bank/high/",
      "{{ data }}",
      "{{ data | reveal: reveal_last: 4 }}",
      [],
    ],
    ["us_bank_routing_number", "US Bank Routing Number", "/bank/low/", "{{ data }}", lastFour, []],
    [
      "social_security_number",
      "Social Security Number",
      "/pii/high/",
      "{{ data | remove: '-' }}",
      lastFour,
      nineDigitIndexes,
    ],
    ["employer_id_number", "Employer ID Number", "/pii/high/", "{{ data | remove: '-' }}", lastFour, nineDigitIndexes],
  ])("%s", (name, displayName, container, fingerprintExpression, mask, searchIndexes) => {
    expect(ENTITY_TYPES[tokenEntityType(name)]).toBe(displayName);
    expect(tokenType(name)).toMatchObject({
      name,
      containers: [container],
      fingerprintExpression,
      mask,
      searchIndexes,
    });
  });

  test("these are all types", () => {
    expect(tokenTypes).toHaveLength(8);
  });
});

describe("defaults in use", () => {
  test.each([
    ["card_number", "4242424242424242", "XXXXXXXXXXXX4242", "4242424242424242", []],
    ["card_number", "36227206271667", "XXXXXXXXXX1667", "36227206271667", []],
    ["us_bank_account_number", "1234567890", "XXXXXX7890", "1234567890", []],
    ["us_bank_account_number", "12345", "X2345", "12345", []],
    ["us_bank_account_number", "1234", "XXXX", "1234", []],
    ["us_bank_account_number", "123", "XXX", "123", []],
    ["us_bank_routing_number", "021000021", "XXXXX0021", "021000021", []],
    ["social_security_number", "123456789", "XXXXX6789", "123456789", ["123456789", "6789"]],
    ["social_security_number", "123-45-6789", "XXX-XX-6789", "123456789", ["123-45-6789", "123456789", "6789"]],
    ["employer_id_number", "12-3456789", "XX-XXX6789", "123456789", ["12-3456789", "123456789", "6789"]],
    ["token", "anything", null, "anything", []],
    [
      "bank",
      { routing_number: "021000021", account_number: "1234567890" },
      { routing_number: "021000021", account_number: "XXXXXX7890" },
      "1234567890|021000021",
      [],
    ],
    [
      "card",
      { number: "4242424242424242", expiration_month: 12, expiration_year: 2025, cvc: "123" },
      { number: "XXXXXXXXXXXX4242", expiration_month: 12, expiration_year: 2025 },
      "4242424242424242",
      [],
    ],
    ["card", { number: "4242424242424242" }, { number: "XXXXXXXXXXXX4242" }, "4242424242424242", []],
  ])("%s %j", (name, data, masked, fingerprinted, indexes) => {
    const type = tokenType(name);
    const stored = type.normalize(data);
    expect(evaluateMask(type.mask, stored)).toEqual(masked);
    expect(evaluateFingerprint(type.fingerprintExpression, { data: stored, metadata: null })).toBe(fingerprinted);
    expect(evaluateSearchIndexes(type.searchIndexes, stored)).toEqual(indexes);
  });
});

test.each(["", "Card", "network_token", "__proto__", "constructor"])(
  "%j is no type, and the fault lists those that are",
  (name) => {
    expect(faultFields(() => tokenType(name))).toEqual({
      type: [expect.stringMatching(/^must be one of: token, card, bank, card_number, .*employer_id_number$/)],
    });
  },
);

/** Digits of `text` that a masked text still shows in their place. */
function shownDigits(text: string, masked: string): number {
  return [...text].filter((digit, at) => digit === masked.charAt(at)).length;
}

test("no default mask shows more than the last four digits of a number, nor any cvc", () => {
  const luhn = (digits: string) => {
    const numbers = Array.from({ length: 10 }, (_, last) => `${digits}${last}`);
    return numbers.find((number) => {
      try {
        return tokenType("card_number").normalize(number) === number;
      } catch {
        return false;
      }
    });
  };
  const digits = fc.stringMatching(/^\d{12,18}$/).map((text) => luhn(text) ?? "");
  fc.assert(
    fc.property(digits, (number) => {
      const masked = evaluateMask(tokenType("card").mask, { number, cvc: "987" });
      expect(masked).toEqual({ number: expect.any(String) });
      const shown = evaluateMask(tokenType("card_number").mask, number);
      expect(masked).toEqual({ number: shown });
      expect(shownDigits(number, String(shown))).toBe(4);
    }),
  );
});
