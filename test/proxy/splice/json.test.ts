import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Json } from "../../../src/base/json.js";
import { placesInJson } from "../../../src/proxy/splice/json.js";
import { splice } from "../../../src/proxy/splice/place.js";

/** The text with every expression replaced by its value in `values`. */
function spliced(text: string, values: Readonly<Record<string, Json>>): string {
  const places = [...placesInJson(text)];
  return splice(
    text,
    places,
    places.map(({ expression }) => values[expression.trim()] ?? null),
  );
}

const VALUES = {
  text: 'a "quoted" \\ line\nbreak \u2028 \u{1F600}',
  number: 11,
  truth: true,
  nothing: null,
  card: { number: "4242", month: 12 },
  list: [1, "2"],
};

describe("values in JSON", () => {
  it.each([
    ["a scalar alone stays in its quotes", '{"a":"{{ number }}"}', '{"a":"11"}'],
    ["a boolean alone too", '{"a":"{{truth}}"}', '{"a":"true"}'],
    ["null is nothing", '{"a":"{{nothing}}"}', '{"a":""}'],
    ["an object alone takes the place of the string", '{"a":"{{card}}"}', '{"a":{"number":"4242","month":12}}'],
    ["a list too", '["{{ list }}"]', '[[1,"2"]]'],
    ["a text is escaped", '{"a":"{{text}}"}', '{"a":"a \\"quoted\\" \\\\ line\\nbreak \u2028 \u{1F600}"}'],
    [
      "within a longer text all is text",
      '{"a":"<{{card}}|{{number}}>"}',
      '{"a":"<{\\"number\\":\\"4242\\",\\"month\\":12}|11>"}',
    ],
    [
      "outside of quotes a value keeps its type",
      '{"a":{{ number }},"b":{{text}}}',
      `{"a":11,"b":${JSON.stringify(VALUES.text)}}`,
    ],
    ["names of members hold expressions too", '{"{{number}}":1}', '{"11":1}'],
    ["stray braces around do not matter", '{"a":{"b":{"c":{{number}}}}}', '{"a":{"b":{"c":11}}}'],
    ["braces that open and close in different strings are text", '{"a":"{{","b":"}}"}', '{"a":"{{","b":"}}"}'],
    ["a string that never ends is still read", '{"a":"{{number}}', '{"a":"11'],
    ["an expression outside may hold quotes", '[{{ number }},"{{number}}"]', '[11,"11"]'],
    [
      "braces may be escaped",
      '{"a":"\\u007b\\u007b text \\u007D\\u007D!"}',
      '{"a":"a \\"quoted\\" \\\\ line\\nbreak \u2028 \u{1F600}!"}',
    ],
    ["also one by one", '["{\\u007bnumber}\\u007d","\\u007B{number\\u007d}"]', '["11","11"]'],
    [
      "and an expression on its own keeps its type",
      '["\\u007b\\u007bcard\\u007d\\u007d"]',
      '[{"number":"4242","month":12}]',
    ],
    [
      "a backslash that is escaped escapes no brace",
      '["\\\\u007b\\\\u007bcard\\\\u007d\\\\u007d"]',
      '["\\\\u007b\\\\u007bcard\\\\u007d\\\\u007d"]',
    ],
    ["and hides none", '["\\\\{{number}}"]', '["\\\\11"]'],
    ["nor does one that escapes nothing", '["\\{{number}}"]', '["\\11"]'],
  ])("%s", (_, text, expected) => {
    expect(spliced(text, VALUES)).toBe(expected);
  });

  it("are looked up by expressions with their escapes undone", () => {
    const [place] = placesInJson('{"a":"{{ id | json: \\"$.x\\" }}"}');
    expect(place?.expression).toBe(' id | json: "$.x" ');
    const found = [...placesInJson('[{{ id | json: "$.x" }},"{{ b }}"]')];
    expect(found.map(({ expression }) => expression)).toEqual([' id | json: "$.x" ', " b "]);
  });

  /** JSON as people write it: blanks anywhere, numbers and escapes in many spellings, every possible string. */
  const blank = fc.constantFrom("", " ", "\n\t", "  \r\n");
  const numeral = fc.constantFrom("0", "-0", "1e5", "1E+05", "12.50", "123456789012345678901234567890", "1.0e-7");
  const literal = fc.string({ unit: "binary" }).map((text) => JSON.stringify(text));
  const braces = fc
    .array(fc.constantFrom("{", "}", "{{", "}}", '\\"', "\\\\", "\\u007b", "x", "é", "[", "]", ","))
    .map((parts) => parts.join(""))
    .filter((text) => !/(?:\{|\\u007b){2}.*(?:\}|\\u007d){2}/.test(text))
    .map((text) => `"${text}"`);
  const { json } = fc.letrec<{ json: string }>((tie) => ({
    json: fc.oneof(
      { depthSize: "small", withCrossShrink: true },
      fc.oneof(numeral, literal, braces, fc.constantFrom("true", "false", "null")),
      fc
        .tuple(blank, fc.array(tie("json"), { maxLength: 4 }), blank)
        .map(([a, items, b]) => `[${a}${items.join(`${b},${a}`)}${b}]`),
      fc
        .tuple(blank, fc.array(fc.tuple(fc.oneof(literal, braces), tie("json")), { maxLength: 4 }), blank)
        .map(
          ([a, members, b]) => `{${a}${members.map(([name, value]) => `${name}${a}:${b}${value}`).join(`,${a}`)}${b}}`,
        ),
    ),
  }));

  /** No string of it contains an expression, however its braces are written. */
  const quiet = json.filter((text) => {
    const plain = text.replaceAll(/\\u007b/gi, "{").replaceAll(/\\u007d/gi, "}");
    return !/"(?:[^"\\]|\\.)*?\{\{(?:[^"\\]|\\.)*?\}\}/s.test(plain);
  });

  it("change not one byte of JSON without expressions, whatever its braces", () => {
    fc.assert(
      fc.property(quiet, (text) => {
        expect([...placesInJson(text)]).toEqual([]);
      }),
      { numRuns: 500 },
    );
  });

  it("change only their own place, and leave valid JSON", () => {
    const value = fc.oneof(
      fc.string({ unit: "binary" }),
      fc.integer(),
      fc.boolean(),
      fc.dictionary(fc.string(), fc.string()),
    );
    fc.assert(
      fc.property(quiet, value, quiet, (before, put, after) => {
        const written = typeof put === "object" ? JSON.stringify(put) : JSON.stringify(String(put));
        const text = (at: string) => `{"before":${before},"at":${at},"after":${after}}`;
        expect(spliced(text('"{{ it }}"'), { it: put })).toBe(text(written));
        expect(spliced(text("{{ it }}"), { it: put })).toBe(text(JSON.stringify(put)));
      }),
      { numRuns: 300 },
    );
  });

  it("are found in time linear in the text, whatever the text", () => {
    const escapes = ["\\u007b", '"\\u007b', '"\\u007b"', '"\\\\u007b\\u007d"', "\\u007b\\u007b{{"];
    for (const piece of ["{{", "}}", '"', '\\"', '"{{"', "{{}}", '"{{}}"', "\\\\", ...escapes]) {
      let found = 0;
      for (const _ of placesInJson(piece.repeat(500_000))) found += 1;
      expect(found).toBeLessThanOrEqual(500_000);
    }
  });
});
