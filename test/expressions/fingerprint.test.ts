import { describe, expect, test } from "vitest";
import { evaluateFingerprint } from "../../src/expressions/fingerprint.js";
import { faultFields } from "./faults.js";

const banked = {
  bank: {
    routing_number: "021000021",
    account_number: "1234567890",
    account_owner: { first_name: "John", middle_name: "Andrew", last_name: "Smith" },
  },
};

describe("the text to fingerprint", () => {
  test.each([
    ["{{ data }}", "111-22-3333", "111-22-3333"],
    ["{{ data.bank.account_number }}", banked, "1234567890"],
    ["{{ data.bank.routing_number }}|{{ data.bank.account_number }}", banked, "021000021|1234567890"],
    [
      "{{ data.bank.account_owner.first_name | upcase }} {{ data.bank.account_owner.last_name | upcase }}",
      banked,
      "JOHN SMITH",
    ],
    ["customer-{{ data }}", "7", "customer-7"],
    ["customer-{{ data.missing }}", "7", "customer-"],
    ["{{ metadata.customer }}-{{ data }}", "7", "c1-7"],
    ["{{ data | stringify }}", { b: 1, a: [true, { d: 1, c: 2 }] }, '{"a":[true,{"c":2,"d":1}],"b":1}'],
    ["{{ data.b | stringify }}", { b: { d: 1, c: 2 } }, '{"c":2,"d":1}'],
    ["{{ data | stringify }}", 12, "12"],
    ["{{ data | stringify }}", "", ""],
    ["{{ data }}", 12, "12"],
    ["literal", "x", "literal"],
  ])("%s", (expression, data, expected) => {
    expect(evaluateFingerprint(expression, { data, metadata: { customer: "c1" } })).toBe(expected);
  });

  test("does not depend on the order of the metadata's keys", () => {
    const text = (metadata: Readonly<Record<string, string>>) =>
      evaluateFingerprint("{{ metadata | stringify }}", { data: 1, metadata });
    expect(text({ b: "1", a: "2" })).toBe('{"a":"2","b":"1"}');
    expect(text({ a: "2", b: "1" })).toBe(text({ b: "1", a: "2" }));
  });

  test("has no metadata entries without metadata", () => {
    expect(evaluateFingerprint("a{{ metadata.customer }}", { data: 1, metadata: null })).toBe("a");
  });

  test("the default works for the largest data", () => {
    const data = Array.from({ length: 100_000 }, (_, n) => ({ name: `n${n}`, value: "x".repeat(20) }));
    expect(evaluateFingerprint("{{ data | stringify }}", { data, metadata: null })).toBe(JSON.stringify(data));
  });
});

test.each([
  ["{{ data.missing }}", "not to null"],
  ["{{ data }}", "not to an object or a list"],
  ["{{ data | }}", "must be a valid expression"],
  ["{{ data.bank.account_number | to_boolean }}", "to_boolean needs true or false"],
])("%s is a fault on fingerprint_expression", (expression, message) => {
  const fields = faultFields(() => evaluateFingerprint(expression, { data: banked, metadata: null }));
  expect(fields).toEqual({ fingerprint_expression: [expect.stringContaining(message)] });
});
