import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, describe, expect, test } from "vitest";
import type { Json } from "../../src/base/json.js";
import { Budget } from "../../src/expressions/budget.js";
import { evaluate } from "../../src/expressions/expression.js";
import { refusal, result } from "./outcome.js";

const tooMuch = "can be evaluated with less work";
const text = (length: number) => "a".repeat(length);
const numbers = (count: number) => Array.from({ length: count }, (_, n) => (n * 7919) % count);
const objects = (count: number) => Array.from({ length: count }, (_, n) => ({ a: { b: n }, name: `x${n}` }));
const nested = (depth: number): Json => (depth === 0 ? [1, 2, 3] : { a: nested(depth - 1), b: [1, 2, 3] });

/** Without limits each of these takes from a second to forever, or more memory than there is. */
describe("endless work is stopped", () => {
  test.each<[string, string, Json]>([
    ["doubling by append", `{{ data${" | append: data".repeat(200)} }}`, text(100_000)],
    ["growth by replace", `{{ data${" | replace: 'a', 'aaaaaaaaaa'".repeat(100)} }}`, "a"],
    ["growth by escape", `{{ data${" | escape".repeat(400)} }}`, "&".repeat(10_000)],
    ["growth by url_encode", `{{ data${" | url_encode".repeat(300)} }}`, "é%".repeat(10_000)],
    ["growth by concat", `{{ data${" | concat: data".repeat(200)} | size }}`, numbers(10_000)],
    ["padding without end", "{{ data | pad_left: 1000000000, 'x' }}", "1"],
    ["padding again and again", `{{ data${" | pad_right: 400000, 'x'".repeat(100)} }}`, "1"],
    ["a large text many times", "{{ data }}".repeat(400), text(1_000_000)],
    ["a large object many times", "x{{ data }}".repeat(300), objects(10_000)],
    ["serializing again and again", "{{ data | stringify }}".repeat(180), objects(20_000)],
    ["splitting a large text", "{{ data | split: '' | size }}", text(2_000_000)],
    ["splitting and joining", `{{ data${" | split: '' | join: ''".repeat(150)} }}`, text(100_000)],
    ["sorting a large list", "{{ data | sort | size }}", numbers(200_000)],
    ["sorting again and again", `{{ data${" | reverse | sort".repeat(200)} | size }}`, numbers(2_000)],
    ["sorting long texts", "{{ data | sort_natural | size }}", Array.from({ length: 1_000 }, (_, n) => text(900) + n)],
    ["a long path for each item", `{{ data | map: '${"a.".repeat(1_900)}a' | size }}`, objects(10_000)],
    ["a search in each item", `{{ data${" | where: 'a.b.c'".repeat(200)} | size }}`, objects(20_000)],
    ["masking again and again", `{{ data${" | reveal: 1, 1".repeat(250)} }}`, text(7_500)],
    ["aliases of aliases", `{{ data${" | alias_preserve_length".repeat(150)} }}`, text(4_096)],
    ["a JSON path through deep data", "{{ data | json: '$..zz' }}", Array.from({ length: 1_000 }, () => nested(60))],
    ["a JSON path through wide data", "{{ data | json: '$[?@.a.b == -1]' }}", objects(40_000)],
    ["comparing at every node", `{{ data | json: '$[?@.a${"||@.a.b==7".repeat(90)}]' }}`, objects(2_000)],
  ])("%s", (_, template, data) => {
    expect(refusal(template, data)).toContain(tooMuch);
  });

  test.each<[string, string, string]>([
    ["a list from a range", "{{ (1..1000000000) | size }}", "ranges are not supported"],
    ["ranges as arguments", `{{ 1${" | default: (1..999999)".repeat(150)} }}`, "ranges are not supported"],
    ["a date of a billion characters", "{{ 'now' | date: '%999999999d' }}", "a filter cannot use"],
    ["two descents in a JSON path", "{{ data | json: '$..a..b' }}", "without unions, with at most one .."],
    ["a doubling union in a JSON path", `{{ data | json: '$${"[0,0]".repeat(50)}' }}`, "without unions"],
    ["a search inside a filter", "{{ data | json: '$[?@..a]' }}", "plain paths in its filters"],
    ["a search from the root inside a filter", "{{ data | json: '$[?$..a == 1]' }}", "needs a JSON path"],
    ["a regular expression", "{{ data | json: '$[?match(@, \"(a+)+$\")]' }}", "needs a JSON path"],
    [
      "a deep JSON path",
      `{{ data | json: '$[?${"(".repeat(1_900)}@.a${")".repeat(1_900)}]' }}`,
      "at most 1000 characters",
    ],
    ["deep brackets", `{{ data${"[".repeat(4_000)} }}`, "cannot be read"],
    ["deep parentheses", `{{ ${"(".repeat(4_000)} }}`, "cannot be read"],
    ["only openings", "{{".repeat(2_000), "is not closed"],
  ])("%s is rejected outright", (_, template, reason) => {
    expect(refusal(template, { a: { b: 1 } })).toContain(reason);
  });

  test("a list used as a key is not joined into one", () => {
    expect(result("{{ [data] }}".repeat(300), numbers(100_000))).toBe("");
    expect(result("{{ data[data] }}", numbers(100_000))).toBeNull();
  });

  test("counting the keys of an object repeatedly counts once", () => {
    const wide = Object.fromEntries(numbers(50_000).map((n) => [`k${n}`, n]));
    expect(result(`{{ 0${" | plus: data.size".repeat(180)} }}`, wide)).toBe(180 * 50_000);
  });

  test("many expressions with one budget stop together", () => {
    const budget = new Budget();
    let evaluated = 0;
    while ("value" in evaluate("{{ data | append: data }}", { data: text(5_000) }, budget)) evaluated += 1;
    expect(evaluated).toBeGreaterThan(20);
    expect(evaluated).toBeLessThan(500);
    expect(evaluate("{{ data }}", { data: 1 }, budget)).toEqual({ rejected: expect.stringContaining(tooMuch) });
    expect(evaluate("{{ data }}", { data: 1 })).toEqual({ value: 1 });
  });
});

describe("files are unreachable", () => {
  const folder = mkdtempSync(join(tmpdir(), "expressions-"));
  const file = join(folder, "secret.liquid");
  writeFileSync(file, "SECRET");
  afterAll(() => rmSync(folder, { recursive: true }));

  test.each(["include", "render", "layout", "block"])("through {%% %s %%}", (tag) => {
    for (const template of [
      `{% ${tag} '${file}' %}`,
      `{{ data }}{% ${tag} "secret.liquid" %}`,
      `{%- ${tag} '/etc/passwd' -%}`,
    ]) {
      expect(refusal(template, "x")).toContain("tags");
    }
  });
});

describe("tags of every kind are rejected", () => {
  test.each([
    "{% for i in (1..100000) %}{% for j in (1..100000) %}x{% endfor %}{% endfor %}",
    "{% tablerow i in (1..100000) %}x{% endtablerow %}",
    "{% assign data = 'x' %}{{ data }}",
    "{% capture x %}{{ data }}{% endcapture %}{{ x }}",
    "{% increment data %}",
    "{% raw %}{{ data }}{% endraw %}",
    "{% liquid\n echo data %}",
    "{% comment %}{{ data }}{% endcomment %}",
  ])("%s", (template) => {
    expect(refusal(template, "x")).toContain("tags");
  });
});

describe("only own properties of the data are accessible", () => {
  test.each([
    "{{ data.__proto__ }}",
    "{{ data.constructor }}",
    "{{ data.constructor.constructor }}",
    "{{ data['constructor']['prototype'] }}",
    "{{ data.hasOwnProperty }}",
    "{{ data.toString }}",
    "{{ data.list.constructor }}",
    "{{ data.list.length }}",
    "{{ data.list.map }}",
    "{{ data.text.length }}",
    "{{ data.text.constructor }}",
    "{{ data.text[0] }}",
    "{{ data.number.toFixed }}",
    "{{ constructor }}",
    "{{ __proto__ }}",
    "{{ this }}",
    "{{ globalThis }}",
    "{{ process.env }}",
    "{{ budget }}",
    "{{ data | json: '$.__proto__' }}",
    "{{ data | json: '$.constructor.name' }}",
    "{{ data.list | json: '$.length' }}",
    "{{ data.list | map: '__proto__' | first }}",
    "{{ data.list | find: 'constructor' }}",
    "{{ 'text'.constructor }}",
  ])("%s is null", (expression) => {
    expect(result(expression, { list: [{ a: 1 }], text: "text", number: 1 })).toBeNull();
  });

  test("an own property with a suspicious name is ordinary data", () => {
    const data: Json = JSON.parse('{"__proto__": {"a": 1}, "constructor": "c", "toString": "t", "size": 9, "then": 1}');
    expect(result("{{ data.__proto__.a }}", data)).toBe(1);
    expect(result("{{ data.constructor }}", data)).toBe("c");
    expect(result("{{ data.toString }}{{ data.size }}{{ data.then }}", data)).toBe("t91");
    expect(result("{{ data | json: '$.constructor' }}", data)).toBe("c");
    expect(Object.prototype).not.toHaveProperty("a");
  });

  test("objects that look like parts of the engine stay data", () => {
    const data: Json = JSON.parse('{"toLiquid":"x","equals":1,"next":1,"throw":1,"return":1,"then":"y","content":"z"}');
    expect(result("{{ data }}", data)).toEqual(data);
    expect(result("{{ data.content }}", data)).toBe("z");
    expect(result("{{ data | stringify }}", data)).toBe(JSON.stringify(data));
  });
});

describe("filters beyond those of standard Liquid do not exist", () => {
  test.each([
    "where_exp: 'x', 'x'",
    "find_exp: 'x', 'true'",
    "group_by_exp: 'x', 'x'",
    "inspect",
    "sample",
    "sha256",
    "raw",
    "jsonify",
  ])("%s", (filter) => {
    expect(refusal(`{{ data | ${filter} }}`, [1])).toContain("there is no filter");
  });

  test.each(["constructor", "__proto__", "toString", "hasOwnProperty"])("nor does %s", (filter) => {
    expect(refusal(`{{ data | ${filter} }}`, [1])).toContain("there is no filter");
  });
});

test("data is not evaluated", () => {
  expect(result("{{ data }}", "{{ data }}")).toBe("{{ data }}");
  expect(result("a{{ data | append: '' }}", "{{ data }}")).toBe("a{{ data }}");
});

test("data too deep for the stack is rejected, not fatal", () => {
  let deep: Json = 1;
  for (let level = 0; level < 50_000; level += 1) deep = [deep];
  expect(evaluate("{{ data | stringify }}", { data: deep })).toHaveProperty("rejected");
  expect(evaluate("{{ data | json: '$..a' }}", { data: deep })).toHaveProperty("rejected");
  expect(evaluate("{{ data | join }}", { data: deep })).toHaveProperty("rejected");
});

/** Pieces from which a fuzzer builds expressions. */
const pieces = fc.constantFrom(
  "{{",
  "}}",
  "{%",
  "%}",
  " ",
  "data",
  ".",
  "a",
  "b",
  "[",
  "]",
  "0",
  "-1",
  "'",
  '"',
  "|",
  ":",
  ",",
  "(",
  ")",
  "..",
  "nil",
  "json",
  "'$..a'",
  "split",
  "map",
  "where",
  "sort",
  "reveal",
  "reveal_last",
  "alias_preserve_format",
  "pad_left",
  "append",
  "stringify",
  "hmac",
  "hex",
  "to_number",
  "card_exp",
  "join",
  "first",
  "size",
  "date",
  "4",
  "=",
  "-",
  "\\",
  "\n",
);

test("any text over any data gives a JSON value or an error", () => {
  const template = fc.oneof(
    fc.string({ unit: "binary" }),
    fc.array(pieces, { maxLength: 30 }).map((parts) => parts.join("")),
    fc.array(pieces, { maxLength: 15 }).map((parts) => `{{ data ${parts.join("")} }}`),
    fc.array(pieces, { maxLength: 8 }).map((parts) => `{{ data | ${parts.join(" ")} }}`),
  );
  fc.assert(
    fc.property(template, fc.jsonValue(), (fuzzed, value) => {
      const data: Json = JSON.parse(JSON.stringify(value));
      const outcome = evaluate(fuzzed, { data });
      if ("rejected" in outcome) expect(outcome.rejected).toMatch(/^(must|could)/);
      else expect(JSON.parse(JSON.stringify(outcome.value))).toEqual(outcome.value);
    }),
    { numRuns: 5_000 },
  );
});
