import { describe, expect, it } from "vitest";
import type { Json } from "../../../src/base/json.js";
import { detectBodyFormat } from "../../../src/proxy/body-format.js";
import { placesInJson5 } from "../../../src/proxy/splice/json5.js";
import { splice } from "../../../src/proxy/splice/place.js";

/** The text with every expression replaced by its value in `values`. */
function spliced(text: string): string {
  const places = [...placesInJson5(text)];
  return splice(
    text,
    places,
    places.map(({ expression }) => VALUES[expression.trim()] ?? null),
  );
}

const VALUES: Readonly<Record<string, Json>> = {
  text: `it's "quoted" \\ line\nbreak`,
  number: 11,
  card: { number: "4242" },
  "id | json: '$.x'": "v",
};
const IN_DOUBLE = `it's \\"quoted\\" \\\\ line\\nbreak`;
const IN_SINGLE = `it\\'s \\"quoted\\" \\\\ line\\nbreak`;

describe("values in JSON5", () => {
  it("are found in the types that clients send", () => {
    for (const type of ["application/json5", "text/json5", "application/x-json5", "application/vnd.x+json5"]) {
      expect(detectBodyFormat(type), type).toEqual({ kind: "text", find: placesInJson5 });
    }
  });

  it.each([
    ["double quotes escape as JSON", `{a:"{{text}}"}`, `{a:"${IN_DOUBLE}"}`],
    ["single quotes escape single quotes", `{a:'{{text}}',}`, `{a:'${IN_SINGLE}',}`],
    ["also within a longer text", `{a:'<{{text}}>'}`, `{a:'<${IN_SINGLE}>'}`],
    ["a double quote within single quotes ends nothing", `{a:'"',b:'{{text}}'}`, `{a:'"',b:'${IN_SINGLE}'}`],
    ["nor a single quote within double quotes", `{a:"'",b:"{{text}}"}`, `{a:"'",b:"${IN_DOUBLE}"}`],
    ["an object alone takes the place of the string", `{a:'{{card}}'}`, `{a:{"number":"4242"}}`],
    ["outside of quotes a value keeps its type", "{a: {{number}}, }", "{a: 11, }"],
    ["braces may be hexadecimal", String.raw`{a:'\x7b\x7B text \x7d\x7D'}`, `{a:'${IN_SINGLE}'}`],
    ["or UTF-16", String.raw`{a:'\u007b\u007B text \u007d\u007D'}`, `{a:'${IN_SINGLE}'}`],
    ["or escaped by themselves", String.raw`{a:"\{\{ text \}\}"}`, `{a:"${IN_DOUBLE}"}`],
    ["or apart by a line break that counts for nothing", `{a:"{\\\n{ text }\\\r\n}"}`, `{a:"${IN_DOUBLE}"}`],
    ["an escaped quote ends nothing", String.raw`{a:'\'',b:'{{text}}'}`, `${String.raw`{a:'\'',b:'`}${IN_SINGLE}'}`],
    [
      "an escaped backslash escapes nothing",
      String.raw`{a:'\\',b:"{{text}}"}`,
      `${String.raw`{a:'\\',b:"`}${IN_DOUBLE}"}`,
    ],
    ["quotes in comments begin nothing", `// don't\n/* " */{a:"{{text}}"}`, `// don't\n/* " */{a:"${IN_DOUBLE}"}`],
    ["comments are not read", `// {{text}}\n/* {{text}} */{a:1}`, `// {{text}}\n/* {{text}} */{a:1}`],
    ["a string cannot hold a comment", `{a:"// {{number}}"}`, `{a:"// 11"}`],
    ["escapes within an expression are undone", String.raw`{a:'{{ id | json: \'\x24.x\' }}'}`, `{a:'v'}`],
    ["braces of different strings are text", `{a:'{{',b:'}}'}`, `{a:'{{',b:'}}'}`],
  ])("%s", (_, text, expected) => {
    expect(spliced(text)).toBe(expected);
  });

  it("take time in proportion to the text", () => {
    for (const part of ["{{", "'{{", "/*", "//", "\\x7b", "'\\\n{", "}}{{"]) {
      expect([...placesInJson5(part.repeat(400_000))].length).toBeLessThanOrEqual(400_000);
    }
  });
});
