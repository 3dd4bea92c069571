import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Json } from "../../src/base/json.js";
import { countMembers, exceededLimit, type JsonLimits } from "../../src/base/json-structure.js";

const NO_LIMITS = { depth: 1e9, values: 1e9, names: 1e9 };
const check = (text: string, limits: Partial<JsonLimits>) =>
  exceededLimit(Buffer.from(text), { ...NO_LIMITS, ...limits });

/** The structure of the text, found by parsing it. */
function structureOf(json: Json): { depth: number; values: number; names: Set<string> } {
  const isContainer = typeof json === "object" && json !== null;
  const parts = isContainer ? Object.values(json).map(structureOf) : [];
  return {
    depth: (isContainer ? 1 : 0) + Math.max(0, ...parts.map(({ depth }) => depth)),
    values: 1 + parts.reduce((sum, { values }) => sum + values, 0),
    names: new Set([
      ...(isContainer && !Array.isArray(json) ? Object.keys(json) : []),
      ...parts.flatMap(({ names }) => [...names]),
    ]),
  };
}

describe("the structure of a JSON text", () => {
  it.each<[string, Partial<JsonLimits>, string | undefined]>([
    ["[]", { depth: 1, values: 1 }, undefined],
    ["[ \n ]", { values: 1 }, undefined],
    ["[[], [] , {}]", { values: 4 }, undefined],
    ["[[],[],{}]", { values: 3 }, "values"],
    ["[[1]]", { depth: 1 }, "depth"],
    ['{"a":{"a":1},"b":2}', { names: 2 }, undefined],
    ['{"a":{"a":1},"b":2}', { names: 1 }, "names"],
    ['["[{,:", "\\"[", "\\\\", "\\\\\\"["]', { depth: 1, values: 5, names: 0 }, undefined],
    ['"', { values: 1 }, undefined],
    ['"\\', { values: 1 }, undefined],
    ["]]]]", { depth: 1 }, undefined],
    [",,,,,", { values: 3 }, "values"],
  ])("%s within %j exceeds %s", (text, limits, expected) => {
    expect(check(text, limits)).toBe(expected);
  });

  it("is counted as a parser builds it, however the text is written", () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 5 }), fc.constantFrom(undefined, 1, "\t"), (value, indent) => {
        const text = JSON.stringify(value, undefined, indent);
        const { depth, values, names } = structureOf(JSON.parse(text));
        const spelled = new Set([...names].map((name) => JSON.stringify(name)));
        expect(check(text, { depth, values, names: spelled.size })).toBeUndefined();
        if (depth > 0) expect(check(text, { depth: depth - 1 })).toBe("depth");
        if (values > 1) expect(check(text, { values: values - 1 })).toBe("values");
        if (spelled.size > 0) expect(check(text, { names: spelled.size - 1 })).toBe("names");
      }),
    );
  });

  it("ends strings at their closing quotes, however long they are and wherever they hold escapes", () => {
    const plain = fc.integer({ min: 0, max: 300 }).map((count) => "x".repeat(count));
    const escapes = fc.integer({ min: 0, max: 300 }).map((count) => '"\\ä'.repeat(count));
    const text = fc.array(fc.oneof(plain, escapes), { maxLength: 8 }).map((parts) => parts.join(""));
    fc.assert(
      fc.property(fc.array(text), (texts) => {
        const json = JSON.stringify(texts.map((each) => [each, ":,[{"]));
        const values = 1 + 3 * texts.length;
        expect(check(json, { values, depth: 2, names: 0 })).toBeUndefined();
        expect(check(json, { values: values - 1 })).toBe("values");
      }),
    );
  });

  it.each([
    ["[]", 0],
    ['{"a":{"b":":"},"c":[{"d\\":":1}]}', 4],
    ['{"a":1,"a":2}', 2],
    [JSON.stringify({ [":".repeat(200)]: '":"'.repeat(200) }), 1],
  ])("%s has members, also of the same name", (text, members) => {
    expect(countMembers(Buffer.from(text))).toBe(members);
  });
});
