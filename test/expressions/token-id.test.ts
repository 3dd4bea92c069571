import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Fault } from "../../src/base/fault.js";
import { evaluateTokenId, isTokenId } from "../../src/expressions/token-id.js";
import { faultFields } from "./faults.js";

describe("ids", () => {
  test.each([
    "abc",
    "d35412f4-9d3b-45d8-b051-fe4b7d4e14c5",
    "4242 4242 4242 4242",
    "john.doe@gmail.com",
    "it's",
    "a:b",
    'a,b;c!$*()~`"',
    "Zoë",
    "x".repeat(400),
  ])("%s is valid", (id) => {
    expect(isTokenId(id)).toBe(true);
    expect(evaluateTokenId(id, "data")).toBe(id);
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
    expect(faultFields(() => evaluateTokenId(id, "data"))).toEqual({
      id: [expect.stringContaining("must be")],
    });
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
