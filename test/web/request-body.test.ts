import { describe, expect, it } from "vitest";
import type { TextForm } from "../../clients/elements/src/text-form.js";
import { fits } from "../../src/web/elements/placement.js";
import { elementsIn, type Found, fill } from "../../src/web/elements/request-body.js";

const number = { $element: "n" };
const valueFor = () => "4242424242424242";

describe("a body with elements", () => {
  it("gets values where the vault tokenizes", () => {
    const body = { a: [number], token: { type: "card", data: { number, list: [1, null, true] } } };
    expect(fill(body, valueFor)).toEqual({
      a: ["4242424242424242"],
      token: { type: "card", data: { number: "4242424242424242", list: [1, null, true] } },
    });
    expect(elementsIn(body).map(({ place, tokenType, path }) => [place, tokenType, path])).toEqual([
      ["body.a[0]", "token", ""],
      ["body.token.data.number", "card", "number"],
    ]);
  });

  it.each(["metadata", "containers", "type", "expires_at", "template"])(
    "cannot put a value into %s, which responses show",
    (name) => {
      const body = { type: "token", data: null, [name]: name === "metadata" ? { a: { b: number } } : number };
      expect(() => fill(body, valueFor)).toThrow(/^body\.\S+ cannot hold an element/);
    },
  );

  it.each([
    ...["id", "mask", "search_indexes", "fingerprint_expression", "deduplicate_token", "privacy", "container", "Id"],
    ...["card_data", "encrypted", "__proto__", "constructor", "toString"],
  ])("cannot set %s: it could hold an expression over the value", (name) => {
    const body = JSON.parse(`{ "type": "token", "data": { "$element": "n" }, ${JSON.stringify(name)}: "x" }`);
    expect(() => fill(body, valueFor)).toThrow(`body.${name} cannot be set by a page`);
  });

  it("has no values of the page's own under a template, with which it could try values", () => {
    const body = (data: unknown) => ({ type: "token", data, template: "receipt" });
    for (const data of ["4242424242424242", { n: number, other: "4242" }, [number, 42]]) {
      expect(() => fill(body(data), valueFor)).toThrow("must be an element, as all data under a template");
    }
    expect(fill(body({ n: number, kept: null }), valueFor)).toMatchObject({ template: "receipt" });
  });

  it("is JSON of bounded depth, and its errors name no value", () => {
    expect(() => fill({ a: undefined }, valueFor)).toThrow("body.a is not a JSON value");
    expect(() => fill({ a: Number.NaN }, valueFor)).toThrow("body.a is not a JSON value");
    let deep: unknown = 1;
    for (let depth = 0; depth < 70; depth += 1) deep = [deep];
    expect(() => fill(deep, valueFor)).toThrow("nested too deeply");
  });
});

describe("a field", () => {
  const PLACES = {
    leaf: number,
    token: { type: "token", data: number },
    inToken: { type: "token", data: { a: [number] } },
    card: { type: "card", data: number },
    cardNumber: { type: "card", data: { number } },
    month: { type: "card", data: { expiration_month: number } },
    year: { type: "card", data: { expiration_year: number } },
    cvc: { type: "card", data: { cvc: number } },
    deepCvc: { type: "card", data: { cvc: { cvc: number } } },
    dotted: { type: "card:", data: { cvc: number } },
    otherCard: { type: "card", data: { holder: number } },
    number: { type: "card_number", data: number },
    routing: { type: "bank", data: { routing_number: number } },
    account: { type: "bank", data: { account_number: number } },
    usRouting: { type: "us_bank_routing_number", data: number },
    usAccount: { type: "us_bank_account_number", data: number },
    ssn: { type: "social_security_number", data: number },
    unknown: { type: "nonsense", data: number },
  } as const;
  const IN_TOKENS = ["leaf", "token", "inToken"];

  /** The names of the places that take a field. */
  const takers = (type: string, form: TextForm = {}, part?: string) =>
    Object.entries(PLACES).flatMap(([name, body]) => {
      const [found]: readonly Found[] = elementsIn(body);
      return found && fits({ type, form }, { ...found, part }) ? [name] : [];
    });

  it("with a card number goes into cards and tokens", () => {
    expect(takers("cardNumber")).toEqual([...IN_TOKENS, "cardNumber", "number"]);
  });

  it("with a verification code goes into a card only, where the vault removes it", () => {
    expect(takers("cardVerificationCode")).toEqual(["cvc"]);
    expect(takers("card")).toEqual(["card"]);
  });

  it("with a date goes in by its parts", () => {
    expect(takers("cardExpirationDate", {}, "month")).toEqual([...IN_TOKENS, "month"]);
    expect(takers("cardExpirationDate", {}, "year")).toEqual([...IN_TOKENS, "year"]);
    expect(takers("cardExpirationDate")).toEqual([]);
  });

  it("with a text goes into tokens, and where every text that it takes is valid", () => {
    expect(takers("text")).toEqual(IN_TOKENS);
    expect(takers("text", { check: "aba" })).toEqual([...IN_TOKENS, "routing", "usRouting"]);
    expect(takers("text", { check: "account" })).toEqual([...IN_TOKENS, "account", "usAccount"]);
    expect(takers("text", { mask: "###-##-####" })).toEqual([...IN_TOKENS, "ssn"]);
    expect(takers("text", { mask: "################", check: "luhn" })).toEqual(IN_TOKENS);
  });
});
