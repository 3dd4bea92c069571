import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Json } from "../../src/base/json.js";
import { Budget } from "../../src/expressions/budget.js";
import { evaluateMask, requireEvaluable } from "../../src/tokens/mask.js";
import { tokenType, tokenTypes } from "../../src/tokens/types/registry.js";
import { faultFields } from "../expressions/faults.js";

const person = {
  name: { first: "John", middle: "Wilson", last: "Doe" },
  ssn: "123-45-6789",
  card_number: "4242-4242-4242-4242",
  cvc: "123",
  year: 2028,
};

describe("the published samples", () => {
  test("a primitive", () => {
    expect(evaluateMask("{{ data | reveal_last: 4 }}", "4242-4242-4242-4242")).toBe("XXXX-XXXX-XXXX-4242");
  });

  test("an object", () => {
    const mask = {
      name: { first: "{{ data.name.first }}", last: "{{ data.name.last | slice: 0, 1 }}." },
      ssn: "{{ data.ssn | reveal_last: 4, '#' }}",
      card_number: "{{ data.card_number | reveal_last: 4, '#' }}",
    };
    expect(evaluateMask(mask, person)).toEqual({
      name: { first: "John", last: "D." },
      ssn: "###-##-6789",
      card_number: "####-####-####-4242",
    });
  });
});

describe("the parts of a mask", () => {
  test.each<[Json, Json]>([
    [null, null],
    ["literal", "literal"],
    ["", ""],
    [5, 5],
    [true, true],
    [
      [1, "a", null, { b: false }],
      [1, "a", null, { b: false }],
    ],
    ["50% { off }", "50% { off }"],
    [
      ["{{ data.ssn | last4 }}", "{{ data.year }}"],
      ["6789", 2028],
    ],
    [{ "{{ data.ssn }}": "x" }, { "{{ data.ssn }}": "x" }],
    ["{{ data.name }}", person.name],
    ["last four: {{ data.ssn | last4 }}", "last four: 6789"],
  ])("%j", (mask, shown) => {
    expect(evaluateMask(mask, person)).toEqual(shown);
  });

  test("an entry named __proto__ is an ordinary entry", () => {
    const mask: Json = JSON.parse('{"__proto__": "{{ data.year }}"}');
    expect(JSON.stringify(evaluateMask(mask, person))).toBe('{"__proto__":2028}');
  });
});

describe("a missing value", () => {
  test("omits its entry from an object", () => {
    const mask = { a: "{{ data.missing }}", b: "{{ data.missing | reveal_last: 4 }}", c: { d: "{{ data.missing }}" } };
    expect(evaluateMask(mask, person)).toEqual({ c: {} });
  });

  test("keeps its place in a list, and is null on its own", () => {
    expect(evaluateMask(["{{ data.missing }}", "{{ data.year }}"], person)).toEqual([null, 2028]);
    expect(evaluateMask("{{ data.missing }}", person)).toBeNull();
  });

  test("is nothing in a longer text", () => {
    expect(evaluateMask({ a: "[{{ data.missing }}]" }, person)).toEqual({ a: "[]" });
  });
});

describe("an unusable expression shows null, and nothing of the data", () => {
  test.each([
    "{{ data.ssn, reveal_last: 4 }}",
    "{{ data.ssn | reveal_lsat: 4 }}",
    "{{ data.ssn | reveal_last }}",
    "{{ data.ssn | reveal_last: data.missing }}",
    "{{ data.ssn | }}",
    "{{ data.ssn",
    "{{ data['ssn' | reveal_last: 4] }}",
    "{{ data.ssn reveal_last: 4 }}",
    "{{ data.ssn | reveal_last 4 }}",
    "{{ data.ssn | json: '$.x' | }}",
    "{% if data.ssn %}{{ data.ssn }}{% endif %}",
    "{% include 'x' %}",
    "{{ (1..3) }}",
    `{{ data.ssn }}${" ".repeat(5_000)}`,
  ])("%s", (expression) => {
    expect(evaluateMask(expression, person)).toBeNull();
    expect(evaluateMask({ a: expression, b: "{{ data.year }}" }, person)).toEqual({ a: null, b: 2028 });
  });
});

test("a mask with very many expressions shows as many as the budget allows, and null after that", () => {
  const shown = evaluateMask(
    Array.from({ length: 50_000 }, () => "{{ data.year }}"),
    person,
  );
  expect(shown).toHaveLength(50_000);
  const values = Array.isArray(shown) ? shown : [];
  const filled = values.filter((value) => value === 2028).length;
  expect(filled).toBeGreaterThan(1_000);
  expect(filled).toBeLessThan(10_000);
  expect(values.slice(filled).every((value) => value === null)).toBe(true);
});

test("a large value is truncated", () => {
  const shown = evaluateMask(
    Array.from({ length: 100 }, () => "{{ data }}"),
    "x".repeat(1_000_000),
  );
  expect(JSON.stringify(shown).length).toBeLessThan(10_100_000);
});

test("whatever the mask, it never fails", () => {
  const text = fc.oneof(
    fc.string(),
    fc.string().map((inner) => `{{ ${inner} }}`),
    fc.string().map((inner) => `{{ data | ${inner} }}`),
  );
  const mask = fc.letrec<{ node: Json }>((tie) => ({
    node: fc.oneof(
      { depthSize: "small" },
      text,
      fc.integer(),
      fc.boolean(),
      fc.constant(null),
      fc.array(tie("node")),
      fc.dictionary(fc.string(), tie("node")),
    ),
  })).node;
  fc.assert(
    fc.property(mask, fc.jsonValue(), (definition, value) => {
      const data: Json = JSON.parse(JSON.stringify(value));
      const shown = evaluateMask(definition, data);
      expect(JSON.parse(JSON.stringify(shown))).toEqual(shown);
    }),
    { numRuns: 500 },
  );
});

describe("the masks of types", () => {
  const digits = (length: number) => fc.stringMatching(new RegExp(`^[0-9]{${length}}$`));
  const number = fc.oneof(digits(13), digits(16), digits(19));
  const data: Readonly<Record<string, fc.Arbitrary<Json>>> = {
    card: fc.record(
      {
        number,
        expiration_month: fc.integer({ min: 1, max: 12 }),
        expiration_year: fc.integer({ min: 1000, max: 9999 }),
        cvc: digits(3),
      },
      { requiredKeys: ["number"], noNullPrototype: true },
    ),
    bank: fc.record(
      { routing_number: digits(9), account_number: fc.stringMatching(/^[0-9]{1,17}$/) },
      { noNullPrototype: true },
    ),
    card_number: number,
    us_bank_account_number: fc.stringMatching(/^[0-9]{3,17}$/),
    us_bank_routing_number: digits(9),
    social_security_number: fc.constantFrom("123-45-6789", "123456789", "1-2-3-4-5-6-7-8-9"),
    employer_id_number: fc.constantFrom("12-3456789", "123456789"),
  };

  test.each(tokenTypes.filter(({ mask }) => mask !== null))("are the same in plain code: $name", (type) => {
    const maskInCode = type.maskInCode ?? expect.fail(`${type.name} has none`);
    fc.assert(
      fc.property(data[type.name] ?? expect.fail(`no data for ${type.name}`), (value) => {
        expect(maskInCode(value)).toEqual(evaluateMask(type.mask, value));
      }),
    );
  });

  test("are the same for any text", () => {
    const { mask, maskInCode } = tokenType("card_number");
    const text = fc.oneof(
      fc.stringMatching(/^[0-9-]{0,12}$/),
      fc.string({ unit: fc.constantFrom("4", "-", "a", "\n", "٤", "👍", "\ud800") }),
    );
    fc.assert(
      fc.property(text, (value) => {
        expect(maskInCode?.(value)).toBe(evaluateMask(mask, value));
      }),
    );
  });

  test.each<[string, Json]>([
    ["card", { number: 4242, expiration_month: 12 }],
    ["card", { number: "4242424242424242", expiration_month: "{{ x }}" }],
    ["bank", ["021000021", "123"]],
    ["card_number", null],
  ])("leave data of another shape to the expressions: %s %j", (name, value) => {
    expect(tokenTypes.find((type) => type.name === name)?.maskInCode?.(value)).toBeUndefined();
  });
});

describe("a mask that could never show anything", () => {
  const check = (mask: Json) => requireEvaluable(mask, new Budget());

  test.each<[Json, string, string]>([
    ["{{ data | frobnicate }}", "mask", "there is no filter frobnicate (character 11)"],
    [{ a: ["x", "{{- data.b | last4 | nope: 1 }}"] }, "mask.a[1]", "there is no filter nope (character 22)"],
    ["{{ data, x: 1 }} {{ data | nope }}", "mask", "there is no filter nope (character 28)"],
    ["{{ data | reveal_last: }}", "mask", "reveal_last needs a whole number as length (character 11)"],
    ["{{ data | reveal_last }}", "mask", "reveal_last needs a whole number as length (character 11)"],
    [
      "x {{- data | reveal_last: mask_char: '#' }}",
      "mask",
      "reveal_last needs a whole number as length (character 14)",
    ],
    ["{{ data | pad_left: 6 }}", "mask", "pad_left needs one character as pad_char (character 11)"],
    ["{{ data | pad_right: pad_char: '0' }}", "mask", "pad_right needs a whole number as length (character 11)"],
    ["{{ data | hmac: 'sha-256' | hex }}", "mask", "hmac needs a text as key (character 11)"],
    ["{{ data | card_exp }}", "mask", "card_exp needs a text as date_expression (character 11)"],
    [{ a: "{{ data | json: }}" }, "mask.a", "json needs a text as json_path_expression (character 11)"],
    ["{{ data | upcase | append }}", "mask", "append needs an argument (character 20)"],
    ["{{ data | json: 'number' }}", "mask", "json needs a JSON path that starts with $ (character 11)"],
    [{ a: "{{ data | json: '$..a..b' }}" }, "mask.a", "json must use a JSON path without unions"],
    [
      "{{ data | json: json_path_expression: '$.' }}",
      "mask",
      "json needs a JSON path that starts with $ (character 11)",
    ],
    ["{{ data | reveal_last: 'four' }}", "mask", "reveal_last needs a whole number as length (character 11)"],
    ["{{ data | reveal_last: 4, '**' }}", "mask", "reveal_last needs one character as mask_char (character 11)"],
    ["{{ data | reveal: mask_char: '' }}", "mask", "reveal needs one character as mask_char (character 11)"],
    ["{{ data | card_mask: 'yes' }}", "mask", "card_mask needs true or false as reveal_bin (character 11)"],
    ["{{ data | hmac: 'md5', 'k' | hex }}", "mask", "hmac needs sha-1, sha-256 or sha-512 as algorithm (character 11)"],
    ["{{ data | card_exp: 'M/Y' }}", "mask", "card_exp needs a date_expression such as MM/YY"],
    ["{{ data", "mask", "a {{ is not closed by }} (character 1)"],
    ["{% if data %}x{% endif %}", "mask", "tags such as {% if %} are not supported (character 1)"],
    [`{{ data }}${"x".repeat(4_096)}`, "mask", "at most 4096 characters (character 1)"],
  ])("%.40j is rejected, and its position named", (mask, field, reason) => {
    expect(faultFields(() => check(mask))).toEqual({ [field]: [expect.stringContaining(reason)] });
  });

  test.each<Json>([
    "{{ data.number, reveal_last: 4 }}",
    "{{ data.number | }}",
    "{{ data | reveal_last: length: 4 }}",
    "{{ data | pad_left: 6, pad_char: '0' }}",
    "{{ data | pad_left: '6', 0 }}",
    "{{ data | json: '$.a' }}{{ data | json: data.path }}{{ data | card_mask: 'true', false, '#' }}",
    "{{ data | hmac: 'SHA-256', 'k' | hex }}{{ data | reveal_last: data.shown, data.character }}",
    "{{ data | reveal }}{{ data | card_mask }}{{ data | card_bin }}",
    "{{ data | truncate }}{{ data | join }}{{ data | sort }}{{ data | default }}{{ data | date }}",
    "{{ }}",
    "{{ data[ }}",
    "no expression | nope",
    { a: null, b: 1, c: [true, "{{ data.missing | default: 'x' }}"] },
  ])("does not include %j", (mask) => {
    expect(() => check(mask)).not.toThrow();
  });

  test("lists 20 of its problems at most, and is checked with bounded work", () => {
    const wrong = Array.from({ length: 100 }, () => "{{ data | nope }}");
    expect(Object.keys(faultFields(() => check(wrong)) ?? {})).toHaveLength(20);
    const long = Array.from({ length: 200_000 }, (_, n) => `{{ data.${n}${"[".repeat(50)} }}`);
    expect(Object.values(faultFields(() => check(long)) ?? {})[0]).toEqual([
      expect.stringContaining("can be evaluated with less work"),
    ]);
  });
});
