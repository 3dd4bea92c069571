import { describe, expect, it } from "vitest";
import type { Json } from "../../src/base/json.js";
import { inactiveAfter, replacesValue } from "../../src/tokens/inactive.js";
import type { ExpressionField, TokenAttributes } from "../../src/tokens/token.js";
import type { TokenPatch } from "../../src/tokens/token-patch.js";
import { CARD, tokenOf } from "../support/token.js";

const OPEN = "{{ data.open }}";
const SECRET = "{{ data.secret }}";
const CARD_NUMBER = "{{ data.number | reveal_last: 4 }}";

describe("expressions that an author who may not use the value writes", () => {
  it.each<[string, TokenAttributes, TokenPatch, TokenAttributes, readonly ExpressionField[]]>([
    ["a new mask", {}, { mask: SECRET }, { mask: SECRET }, ["mask"]],
    ["the mask that the token has", { mask: OPEN }, { mask: OPEN }, { mask: OPEN }, []],
    [
      "a part of the mask that it has",
      { mask: { a: OPEN, b: SECRET } },
      { mask: { b: null } },
      { mask: { a: OPEN } },
      [],
    ],
    [
      "its expression in another place",
      { mask: { a: OPEN } },
      { mask: { b: OPEN } },
      { mask: { a: OPEN, b: OPEN } },
      [],
    ],
    ["one expression more", { mask: { a: OPEN } }, { mask: { b: SECRET } }, { mask: { a: OPEN, b: SECRET } }, ["mask"]],
    ["literals, which show nothing of the value", { mask: OPEN }, { mask: "hidden" }, { mask: "hidden" }, []],
    ["a mask that is removed, with none of the type", { mask: OPEN }, { mask: null }, {}, []],
    ["an index", {}, { searchIndexes: [SECRET] }, { searchIndexes: [SECRET] }, ["searchIndexes"]],
    ["fewer indexes", { searchIndexes: [OPEN, SECRET] }, { searchIndexes: [OPEN] }, { searchIndexes: [OPEN] }, []],
    ["no indexes", { searchIndexes: [OPEN] }, { searchIndexes: [] }, { searchIndexes: [] }, []],
    [
      "a fingerprint expression",
      {},
      { fingerprintExpression: SECRET },
      { fingerprintExpression: SECRET },
      ["fingerprintExpression"],
    ],
    [
      "the fingerprint expression of the type",
      {},
      { fingerprintExpression: "{{ data | stringify }}" },
      { fingerprintExpression: "{{ data | stringify }}" },
      [],
    ],
    ["an inactive mask again", { mask: SECRET, inactive: ["mask"] }, { mask: SECRET }, { mask: SECRET }, ["mask"]],
    [
      "other fields than the inactive one",
      { mask: SECRET, inactive: ["mask"] },
      { data: "x" },
      { mask: SECRET },
      ["mask"],
    ],
    ["a literal in place of an inactive mask", { mask: SECRET, inactive: ["mask"] }, { mask: "x" }, { mask: "x" }, []],
    [
      "several fields",
      {},
      { mask: SECRET, searchIndexes: [SECRET] },
      { mask: SECRET, searchIndexes: [SECRET] },
      ["mask", "searchIndexes"],
    ],
  ])("are inactive unless they were active before: %s", (_, attributes, patch, next, inactive) => {
    expect(inactiveAfter(tokenOf("token", "x", attributes), patch, next, false)).toEqual(inactive);
  });

  it("include the mask of a type that was replaced and is restored", () => {
    const removed = tokenOf("card", CARD, { mask: "hidden" });
    expect(inactiveAfter(removed, { mask: null }, {}, false)).toEqual(["mask"]);
    expect(inactiveAfter(removed, { mask: null }, {}, true)).toEqual([]);
    const own = tokenOf("card", CARD);
    expect(inactiveAfter(own, { mask: { number: CARD_NUMBER } }, { mask: { number: CARD_NUMBER } }, false)).toEqual([]);
  });
});

describe("expressions that an author who may use the value writes", () => {
  it.each<[string, TokenAttributes, TokenPatch, TokenAttributes, readonly ExpressionField[]]>([
    ["a new mask is active", {}, { mask: SECRET }, { mask: SECRET }, []],
    ["an inactive mask is active once it is confirmed", inactiveMask(SECRET), { mask: SECRET }, { mask: SECRET }, []],
    ["an inactive mask stays so beside other changes", inactiveMask(SECRET), { data: "x" }, { mask: SECRET }, ["mask"]],
    [
      "an inactive part stays so beside a part that is confirmed",
      inactiveMask({ a: SECRET }),
      { mask: { b: OPEN } },
      { mask: { a: SECRET, b: OPEN } },
      ["mask"],
    ],
  ])("%s", (_, attributes, patch, next, inactive) => {
    expect(inactiveAfter(tokenOf("token", "x", attributes), patch, next, true)).toEqual(inactive);
  });
});

function inactiveMask(mask: Json): TokenAttributes {
  return { mask, inactive: ["mask"] };
}

describe("an author knows the whole value", () => {
  it.each<[Json, Json | undefined, boolean]>([
    ["old", undefined, false],
    ["old", "new", true],
    ["old", { a: 1 }, true],
    [{ a: 1 }, "new", true],
    [{ a: 1 }, { a: 2 }, true],
    [{ a: 1, b: 2 }, { a: 3 }, false],
    [{ a: 1, b: 2 }, { a: 3, b: null }, true],
    [{ a: { b: 1 } }, { a: { c: 2 } }, false],
    [{ a: { b: 1 } }, { a: { b: null, c: 2 } }, true],
    [{}, {}, true],
  ])("if nothing of %j is left after %j: %s", (current, data, isWhole) => {
    expect(replacesValue(current, data === undefined ? {} : { data })).toBe(isWhole);
  });
});
