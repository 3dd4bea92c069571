import { describe, expect, test } from "vitest";
import { refusal, result } from "../outcome.js";

// The published sample, as text: the linter takes the literal for a rounded pi.
const decimal = Number("3.14159");

const samples = {
  true_string: "true",
  false_string: "false",
  int_string: "42",
  decimal_string: "3.14159",
  numeric_value: decimal,
  boolean_value: true,
  string_value: "foo",
};

test.each([
  ["{{ data.true_string | to_boolean }}", true],
  ["{{ data.false_string | to_boolean }}", false],
  ["{{ data.boolean_value | to_boolean }}", true],
  ["{{ ' True ' | to_boolean }}", true],
  ["{{ 0 | to_boolean }}", false],
  ["{{ data.int_string | to_number }}", 42],
  ["{{ data.decimal_string | to_number }}", decimal],
  ["{{ data.numeric_value | to_number }}", decimal],
  ["{{ '-1e3' | to_number }}", -1000],
  ["{{ '0007' | to_number }}", 7],
  ["{{ data.numeric_value | to_string }}", "3.14159"],
  ["{{ data.boolean_value | to_string }}", "true"],
  ["{{ data.string_value | to_string }}", "foo"],
])("%s", (expression, expected) => {
  expect(result(expression, samples)).toBe(expected);
});

test.each(["to_boolean", "to_number", "to_string"])("%s keeps null and rejects objects", (filter) => {
  expect(result(`{{ data.missing | ${filter} }}`, samples)).toBeNull();
  expect(refusal(`{{ data | ${filter} }}`, samples)).toContain("needs a");
});

describe("to_number", () => {
  test.each(["foo", "", "12,5", "0x10", "Infinity", "NaN", "1e400", "--1", "1 2"])("rejects %j", (text) => {
    expect(refusal("{{ data | to_number }}", text)).toContain("to_number needs a number");
  });

  test.each(["4111111111111111111", "0.1234567890123456789"])("rejects %s, which a double would change", (text) => {
    expect(refusal("{{ data | to_number }}", text)).toContain("at most 15 digits");
  });

  test("accepts whole numbers that a double represents exactly", () => {
    expect(result("{{ data | to_number }}", "9007199254740991")).toBe(9007199254740991);
    expect(refusal("{{ data | to_number }}", "9007199254740993")).toContain("at most 15 digits");
  });
});

test("to_boolean rejects other words", () => {
  expect(refusal("{{ data | to_boolean }}", "yes")).toContain("to_boolean needs true or false");
});
