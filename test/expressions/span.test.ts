import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { expressionSpans, soleExpression } from "../../src/expressions/span.js";

const found = (text: string) => [...expressionSpans(text)].map(({ start, end }) => text.slice(start, end));

describe("expressions of a text", () => {
  test.each([
    ["", []],
    ["none", []],
    ["{{a}}", ["{{a}}"]],
    ["{{ a }}{{ b }}", ["{{ a }}", "{{ b }}"]],
    ['{"a":{{ id }}}', ["{{ id }}"]],
    ["{{{ id }}}", ["{{ id }}"]],
    ["{{ open {{ id }} }}", ["{{ id }}"]],
    ["don't {{ id }} won't", ["{{ id }}"]],
    ["{{ id | json: '$.a' }}", ["{{ id | json: '$.a' }}"]],
    ['{"a":"{{ id | json: \\"$.a\\" }}"}', ['{{ id | json: \\"$.a\\" }}']],
    ["}}{{ a }}", ["{{ a }}"]],
    ["{{}}", ["{{}}"]],
    ["{{ a", []],
    ["a }}", []],
    ["{ { a } }", []],
    ["{{\n a\n}}", ["{{\n a\n}}"]],
  ])("%j", (text, expected) => {
    expect(found(text)).toEqual(expected);
  });
});

test("spans are in order, disjoint, and contain their expression", () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom("{", "}", "{{", "}}", "a", "'", " ") }), (text) => {
      let last = 0;
      for (const { start, end, expression } of expressionSpans(text)) {
        expect(start).toBeGreaterThanOrEqual(last);
        expect(text.slice(start, end)).toBe(`{{${expression}}}`);
        expect(expression).not.toContain("}}");
        expect(expression.slice(1)).not.toContain("{{");
        last = end;
      }
    }),
  );
});

/** Each would take minutes in quadratic time. */
test.each([
  ["openings", "{{".repeat(2_500_000), 0],
  ["closings", "}}".repeat(2_500_000), 0],
  ["openings with quotes", "{{'\\'".repeat(1_000_000), 0],
  ["openings, one closing", `${"{{".repeat(2_500_000)}}}`, 1],
  ["expressions", "{{a}}".repeat(1_000_000), 1_000_000],
])("5 MB of %s", (_, text, count) => {
  let spans = 0;
  for (const _span of expressionSpans(text)) spans += 1;
  expect(spans).toBe(count);
});

test("a text is a sole expression exactly if its one span is the whole of it", () => {
  const piece = fc.constantFrom("{", "}", "{{", "}}", "a", " ");
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 8 }), (pieces) => {
      const text = pieces.join("");
      const [first, ...others] = expressionSpans(text);
      const isWhole = first?.start === 0 && first.end === text.length && others.length === 0;
      expect(soleExpression(text)).toEqual(isWhole ? first : undefined);
    }),
    { numRuns: 5_000 },
  );
});
