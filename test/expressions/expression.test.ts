import { describe, expect, test } from "vitest";
import { evaluate, isTemplate, MAX_TEMPLATE_LENGTH } from "../../src/expressions/expression.js";
import { refusal, result, sampleCard } from "./outcome.js";

const person = { name: "John Doe", first_name: "John", last_name: "Brown", tags: ["b", "a"], age: 42, vip: false };

describe("a text that is exactly one expression keeps the type of its result", () => {
  test.each([
    ["{{ data.age }}", 42],
    ["{{data.age}}", 42],
    ["{{ data.vip }}", false],
    ["{{ data.tags }}", ["b", "a"]],
    ["{{ data.name }}", "John Doe"],
    ["{{ data.none }}", null],
    ["{{ data }}", person],
    ["{{ 'text' }}", "text"],
    ["{{ 4 }}", 4],
    ["{{ -0 }}", 0],
    ["{{ nil }}", null],
    ["{{ data.tags | map: 'missing' }}", [null, null]],
  ])("%s", (expression, expected) => {
    expect(result(expression, person)).toEqual(expected);
  });
});

describe("any other text becomes a string", () => {
  test.each([
    ["{{ data.first_name }} {{ data.last_name }}", "John Brown"],
    ["customer-{{ data.age }}", "customer-42"],
    [" {{ data.age }}", " 42"],
    ["a{{ data.none }}b", "ab"],
    ["{{ data.vip }}!", "false!"],
    ["tags: {{ data.tags }}", 'tags: ["b","a"]'],
    ["no expression", "no expression"],
    ["", ""],
    ["}} {{ data.age }} }}", "}} 42 }}"],
    ['{"n":{{ data.age }}}', '{"n":42}'],
    ["a {{- data.age -}} b", "a42b"],
    ["a {{- data.age }} b", "a42 b"],
  ])("%s", (expression, expected) => {
    expect(result(expression, person)).toBe(expected);
  });
});

describe("standard filters", () => {
  test.each([
    ["{{ data.name | split: ' ' | last | upcase }}", "DOE"],
    ["{{ data.last_name | slice: 0 }}", "B"],
    ["{{ data.last_name | slice: -2, 2 }}", "wn"],
    ["{{ data.age | to_string | slice: -2, 2 }}", "42"],
    ["{{ data.tags | sort | join: ',' }}", "a,b"],
    ["{{ data.tags | first }}", "b"],
    ["{{ data.tags.size }}", 2],
    ["{{ data.tags[1] }}", "a"],
    ["{{ data.tags.last }}", "a"],
    ["{{ data['first_name'] }}", "John"],
    ["{{ data.size }}", 6],
    ["{{ data.name | remove: ' ' }}", "JohnDoe"],
    ["{{ '111-22-3333' | replace: '-' }}", "111223333"],
    ["{{ data.none | default: 'x' }}", "x"],
    ["{{ data.age | plus: 1 | times: 2 }}", 86],
    ["{{ 16 | divided_by: 4 }}", 4],
    ["{{ data.name | append: '!' | prepend: '?' }}", "?John Doe!"],
    ["{{ 0 | date: '%Y-%m-%dT%H:%M' }}", "1970-01-01T00:00"],
    ["{{ data.name | base64_encode | base64_decode }}", "John Doe"],
    ["{{ data.name | url_encode }}", "John+Doe"],
  ])("%s", (expression, expected) => {
    expect(result(expression, person)).toBe(expected);
  });

  test("filters over lists of objects read own properties", () => {
    const books = [
      { title: "b", price: 2 },
      { title: "a", price: 1 },
    ];
    expect(result("{{ data | where: 'title', 'a' | map: 'price' | first }}", books)).toBe(1);
    expect(result("{{ data | sort: 'price' | map: 'title' | join }}", books)).toBe("a b");
    expect(result("{{ data | sum: 'price' }}", books)).toBe(3);
    expect(result("{{ data | find: 'price', 2 }}", books)).toEqual(books[0]);
    expect(result("{{ data | map: 'constructor' | compact | size }}", books)).toBe(0);
  });
});

describe("rejected, because a misunderstood expression could show more than intended", () => {
  test.each([
    ["{{ data.number, reveal_last: 4 }}", "expected one value and its filters"],
    ["{{ data.number reveal_last: 4 }}", "cannot be read"],
    ["{{ data.number | reveal_lsat: 4 }}", "there is no filter reveal_lsat"],
    ["{{ data.number | }}", "expected the name of a filter after |"],
    ["{{ data['number' | reveal_last: 4] }}", "expected ] after a property"],
    ["{{ data.number data.number }}", "expected one value"],
    ["{{ data.number == '4' }}", "cannot be read"],
    ["{{ data.number and true }}", "expected one value"],
    ["{{ }}", "cannot be read"],
    ["{{ | upcase }}", "cannot be read"],
    ["{{ data.number", "a {{ is not closed"],
    ["{{ (1..3) }}", "ranges are not supported"],
    ["{{ 1 | default: (1..3) }}", "ranges are not supported"],
    ["{% if data %}{{ data.number }}{% endif %}", "tags"],
    ["{{ 1 | divided_by: 0 }}", "the result is not a number"],
    ["{{ '%' | url_decode }}", "a filter cannot use what it is given"],
  ])("%s", (expression, reason) => {
    expect(refusal(expression, sampleCard)).toContain(reason);
  });

  test("a text longer than the limit", () => {
    const longest = `{{ data }}${"x".repeat(MAX_TEMPLATE_LENGTH - 10)}`;
    expect(result(longest, "y")).toBe(`y${"x".repeat(MAX_TEMPLATE_LENGTH - 10)}`);
    expect(refusal(`${longest}x`, "y")).toContain("at most 4096 characters");
  });
});

test("an error repeats nothing of the data", () => {
  const data = { number: "4242424242424242", path: "$[4242424242424242" };
  for (const expression of [
    "{{ data.number | to_boolean }}",
    "{{ data | json: data.path }}",
    "{{ data.number | append: '!' | base64_decode }}",
    "{{ data | reveal_last: data.number }}",
    "{{ data.number | reveal: 1, 1, data.number }}",
  ]) {
    expect(refusal(expression, data)).not.toContain("42424242");
  }
});

test("the same text is evaluated on the current data, not on that of an earlier use", () => {
  expect(result("{{ data.n | plus: 1 }}", { n: 1 })).toBe(2);
  expect(result("{{ data.n | plus: 1 }}", { n: 2 })).toBe(3);
  expect(evaluate("{{ metadata.n }}", { data: { n: 1 } })).toEqual({ value: null });
});

test("data is not modified", () => {
  const data = { list: [3, 1, 2], text: "b" };
  result("{{ data.list | sort | reverse | concat: data.list | uniq | join }}", data);
  result("{{ data | stringify }}{{ data.text | upcase }}", data);
  expect(data).toEqual({ list: [3, 1, 2], text: "b" });
});

test("isTemplate tells literals from expressions", () => {
  expect(["{{ a }}", "{{", "x{%"].map(isTemplate)).toEqual([true, true, true]);
  expect(["", "a", "{ }", "}}"].map(isTemplate)).toEqual([false, false, false, false]);
});
