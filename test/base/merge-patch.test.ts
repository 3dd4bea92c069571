import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isJsonObject, type Json } from "../../src/base/json.js";
import { mergePatch } from "../../src/base/merge-patch.js";
import { arbitraryJson } from "../support/json.js";

const parsed = (text: string): Json => JSON.parse(text);

describe("a merge patch", () => {
  // RFC 7396, appendix A.
  it.each([
    ['{"a":"b"}', '{"a":"c"}', '{"a":"c"}'],
    ['{"a":"b"}', '{"b":"c"}', '{"a":"b","b":"c"}'],
    ['{"a":"b"}', '{"a":null}', "{}"],
    ['{"a":"b","b":"c"}', '{"a":null}', '{"b":"c"}'],
    ['{"a":["b"]}', '{"a":"c"}', '{"a":"c"}'],
    ['{"a":"c"}', '{"a":["b"]}', '{"a":["b"]}'],
    ['{"a":{"b":"c"}}', '{"a":{"b":"d","c":null}}', '{"a":{"b":"d"}}'],
    ['{"a":[{"b":"c"}]}', '{"a":[1]}', '{"a":[1]}'],
    ['["a","b"]', '["c","d"]', '["c","d"]'],
    ['{"a":"b"}', '["c"]', '["c"]'],
    ['{"a":"foo"}', "null", "null"],
    ['{"a":"foo"}', '"bar"', '"bar"'],
    ['{"e":null}', '{"a":1}', '{"e":null,"a":1}'],
    ["[1,2]", '{"a":"b","c":null}', '{"a":"b"}'],
    ["{}", '{"a":{"bb":{"ccc":null}}}', '{"a":{"bb":{}}}'],
  ])("turns %s with %s into %s", (target, patch, result) => {
    expect(JSON.stringify(mergePatch(parsed(target), parsed(patch)))).toBe(result);
  });

  it.each([
    ["{}", '{"__proto__":{"admin":true}}', '{"__proto__":{"admin":true}}'],
    ['{"__proto__":{"a":1}}', '{"__proto__":{"b":2}}', '{"__proto__":{"a":1,"b":2}}'],
    ['{"__proto__":1,"a":2}', '{"__proto__":null}', '{"a":2}'],
    ["{}", '{"toString":{"a":1},"constructor":null}', '{"toString":{"a":1}}'],
  ])("treats names of the prototype like any others: %s with %s is %s", (target, patch, result) => {
    const merged = mergePatch(parsed(target), parsed(patch));
    expect(JSON.stringify(merged)).toBe(result);
    expect(Object.getPrototypeOf(merged)).toBe(Object.prototype);
  });

  it("is the algorithm of RFC 7396, section 2, for any values", () => {
    const merge = (target: Json | undefined, patch: Json): Json => {
      if (!isJsonObject(patch)) return patch;
      const members = new Map(isJsonObject(target) ? Object.entries(target) : []);
      for (const [name, value] of Object.entries(patch)) {
        if (value === null) members.delete(name);
        else members.set(name, merge(members.get(name), value));
      }
      return Object.fromEntries(members);
    };
    fc.assert(
      fc.property(arbitraryJson, arbitraryJson, (target, patch) => {
        expect(mergePatch(target, patch)).toEqual(merge(target, patch));
      }),
    );
  });

  it("changes nothing more when it is sent again, and changes neither of its inputs", () => {
    fc.assert(
      fc.property(arbitraryJson, arbitraryJson, (target, patch) => {
        const before = JSON.stringify([target, patch]);
        const once = mergePatch(target, patch);
        expect(mergePatch(once, patch)).toEqual(once);
        expect(JSON.stringify([target, patch])).toBe(before);
      }),
    );
  });
});
