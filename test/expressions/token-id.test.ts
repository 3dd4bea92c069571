import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Fault } from "../../src/base/fault.js";
import type { Json } from "../../src/base/json.js";
import { Budget } from "../../src/expressions/budget.js";
import { concealedData } from "../../src/expressions/concealed-data.js";
import { evaluateTokenId, isTokenId, requireTokenId } from "../../src/expressions/token-id.js";
import { faultFields } from "./faults.js";

describe("ids", () => {
  test.each([
    "abc",
    "d35412f4-9d3b-45d8-b051-fe4b7d4e14c5",
    "john.doe@gmail.com",
    "it's",
    "a:b",
    'a,b;c!$*()~`"',
    "Zoë",
    "x".repeat(400),
  ])("%s is valid", (id) => {
    expect(isTokenId(id)).toBe(true);
    expect(() => requireTokenId(id, "data")).not.toThrow();
  });

  test.each([
    "",
    "ab",
    "x".repeat(401),
    " abc",
    "abc ",
    "a\nbc",
    "a\0bc",
    "abc\ud800",
    ...[..."#/\\+?[]|&=%<>{}^"].map((c) => `ab${c}cd`),
  ])("%j is not", (id) => {
    expect(isTokenId(id)).toBe(false);
    expect(faultFields(() => requireTokenId(id, "data"))).toEqual({
      id: [expect.stringContaining("must be")],
    });
  });
});

describe("a literal id", () => {
  const NUMBER = "4242424242424242";
  const AMEX = "378282246310005";
  const refused = { id: ["must not hold more of a card number than its BIN and last four digits"] };

  test.each<[id: string, data: Json]>([
    [NUMBER, { number: NUMBER }],
    [NUMBER, Number(NUMBER)],
    [`order-${NUMBER}`, { a: [{ b: `Card ${NUMBER}.` }] }],
    ["4242 4242-4242.4242", NUMBER],
    ["4x2x4x2x4x2x4x2x4x2x4x2x4x2x4x2", NUMBER],
    ["٤٢٤٢٤٢٤٢٤٢٤٢٤٢٤٢", NUMBER],
    ["x8224631y", AMEX],
    ["to-24631-0005", AMEX],
    [AMEX, { [AMEX]: 1 }],
    ["x2246310005", "3782-822463-10005"],
    // In a UUID, backwards, encoded, in another radix.
    ["42424242-4242-4242-a000-b718b296b1ec", NUMBER],
    ["a5000136-4228-2873-a000-b718b296b1ec", AMEX],
    ["order-500013642-28273", AMEX],
    [`o-${Buffer.from(AMEX).toString("base64url")}`, AMEX],
    [`order${Buffer.from(`x${AMEX}y`).toString("base64url")}`, AMEX],
    [`h-${Buffer.from(AMEX).toString("hex")}`, AMEX],
    [`n-${Number(AMEX).toString(36)}`, AMEX],
    // Divided among fields, in groups of any length and order.
    [AMEX, { a: "37828", b: "2246", c: "310005", d: { n: "4242424200004242" } }],
    [`x-${AMEX}`, ["310005", "2246", "37828"]],
    ["37828-x-2246-y-310005", { a: 37828, b: 2246, c: 310005 }],
    // Of no card in the data, and recognized by network and check digit.
    ["4242 4242 4242 4242", "data"],
    [`paid with ${AMEX}`, null],
  ])("%s is refused for %j", (id, data) => {
    expect(faultFields(() => requireTokenId(id, data))).toEqual(refused);
  });

  test.each<[id: string, data: Json]>([
    ["42424242-4242", "4242424200004242"],
    ["order-4242424242", "4242424200004242"],
    ["42424242-4242", NUMBER],
    // An alias with BIN and last four of its number.
    ["3782820000010005", "3782822463100055"],
    ["378282999990005", AMEX],
    // No check digit, no network, too short and too long.
    ["4242424242424241", "data"],
    ["1700000000000", "data"],
    ["20261123000123", "data"],
    ["order-123456789012", "data"],
    ["42424242424242424242424242424242", "data"],
    ["01a20894-30e4-7000-b718-b296b1ec3e53", NUMBER],
    ["5a20894-30e4-7000-b718-b296b1ec3e53", { id: "5a20894-30e4-7000-b718-b296b1ec3e53", n: NUMBER }],
  ])("%s is valid for %j", (id, data) => {
    expect(() => requireTokenId(id, data)).not.toThrow();
  });

  test.each(["4242-123", "123 4242", "4242123", `424242_123`, "42424242-123-x", "x-1234242"])(
    "%s is refused for a card with that code",
    (id) => {
      const code = { id: ["must not hold a verification code"] };
      expect(faultFields(() => requireTokenId(id, { number: NUMBER }, "123"))).toEqual(code);
      expect(() => requireTokenId(id, { number: NUMBER }, "456")).not.toThrow();
    },
  );

  test.each(["order-123", "4242-1234", "4242-2027-123", "a123", "4242"])("%s may have the digits of a code", (id) => {
    expect(() => requireTokenId(id, { number: NUMBER }, "123")).not.toThrow();
  });
});

describe("alias expressions", () => {
  test.each([
    ["{{ data | alias_preserve_format: 0, 4 }}", "111-22-3333", /^\d{3}-\d{2}-3333$/],
    ["{{ data.number | alias_preserve_format: 0, 4 }}", { number: "4242424242424242" }, /^\d{12}4242$/],
    [
      "{{ data.email | split: '@' | first | alias_preserve_length }}@{{ data.email | split: '@' | last }}",
      { email: "john.doe@gmail.com" },
      /^[a-z0-9]{8}@gmail\.com$/,
    ],
    ["{{ data }}", 123456, /^123456$/],
    ["card-{{ data }}", true, /^card-true$/],
  ])("%s", (expression, data, shape) => {
    expect(evaluateTokenId(expression, data)).toMatch(shape);
  });

  test.each([
    ["{{ data.missing }}", "must evaluate to a text, not to null"],
    ["{{ data }}", "must evaluate to a text, not to an object or a list"],
    ["{{ data.short }}", "must be 3 to 400 characters"],
    ["{{ data.slashed }}", "must be 3 to 400 characters"],
    ["{{ data.short | nope }}", "must be a valid expression"],
    ["{{ metadata.x }}", "must evaluate to a text, not to null"],
  ])("%s is a fault on id", (expression, message) => {
    const fields = faultFields(() => evaluateTokenId(expression, { short: "ab", slashed: "ab/cd" }));
    expect(fields).toEqual({ id: [expect.stringContaining(message)] });
  });
});

test("any text gives either an id or a fault on id", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary", maxLength: 500 }), (text) => {
      try {
        expect(isTokenId(evaluateTokenId(text, "4242424242424242"))).toBe(true);
      } catch (error) {
        expect(error).toBeInstanceOf(Fault);
      }
    }),
  );
});

test.each([
  ["two of eight digits", 2, 8],
  ["four of four digits", 4, 4],
])("keeps the digits of ordinary lists: %s", (_, count, digits) => {
  const number = fc.noBias(fc.integer({ min: 10 ** (digits - 1), max: 10 ** digits - 1 }));
  const lists = fc.sample(fc.array(number, { minLength: count, maxLength: count }), { numRuns: 500, seed: 27 });
  const kept = lists.filter((list) => concealedData(list, () => 0, new Budget()) === list);
  // One in ten has a check digit by chance, and must count as a card where networks use its first digits.
  expect(kept.length).toBeGreaterThan(440);
});
