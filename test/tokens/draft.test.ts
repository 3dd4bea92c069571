import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Fault } from "../../src/base/fault.js";
import type { Json, JsonObject } from "../../src/base/json.js";
import { readDraft } from "../../src/tokens/draft.js";
import { faultFields } from "../expressions/faults.js";
import { arbitraryJson } from "../support/json.js";

const read = (fields: JsonObject) => readDraft({ type: "token", data: "x", ...fields });
const texts = (count: number, text = "/a/") => Array.from({ length: count }, () => text);
const entries = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${index}`, "v"]));
const WHALE = "\u{1F40B}";

describe("a token request inside other JSON", () => {
  it("is read with all of its fields", () => {
    const draft = readDraft({
      ...{ id: "order-1", type: "card", data: { number: "4242424242424242" }, mask: { number: "x" } },
      ...{ containers: ["/a/"], metadata: { a: "1" }, search_indexes: ["{{ data.number }}"] },
      ...{ fingerprint_expression: "{{ data.number }}", deduplicate_token: true, expires_at: "2030-01-01" },
    });
    expect(draft).toEqual({
      ...{ id: "order-1", type: "card", data: { number: "4242424242424242" }, containers: ["/a/"] },
      ...{ deduplicate: true, expiresAt: "2030-01-01" },
      attributes: {
        ...{ mask: { number: "x" }, metadata: { a: "1" } },
        ...{ searchIndexes: ["{{ data.number }}"], fingerprintExpression: "{{ data.number }}" },
      },
    });
  });

  it("takes null as absent in every field but data", () => {
    const names = ["id", "mask", "containers", "metadata", "search_indexes", "fingerprint_expression", "expires_at"];
    const nulls = Object.fromEntries([...names, "deduplicate_token"].map((name) => [name, null]));
    expect(read(nulls)).toEqual(read({}));
    expect(faultFields(() => readDraft({ type: "token", data: null }))).toEqual({ data: ["must be given"] });
  });

  it.each<[string, Json]>([
    ["false", false],
    ["zero", 0],
    ["an empty text", ""],
    ["an empty list", []],
  ])("may have data or a mask that is %s", (_, value) => {
    expect(read({ data: value, mask: value })).toMatchObject({ data: value, attributes: { mask: value } });
  });

  it.each<[string, Json, Json, string]>([
    ["id", "x".repeat(4_096), "x".repeat(4_097), "id"],
    ["expires_at", "x".repeat(100), "x".repeat(101), "expires_at"],
    ["fingerprint_expression", "x".repeat(400), "x".repeat(401), "fingerprint_expression"],
    ["fingerprint_expression", WHALE.repeat(400), WHALE.repeat(401), "fingerprint_expression"],
    ["containers", texts(20), texts(21), "containers"],
    ["containers", ["x".repeat(400)], ["x", "x".repeat(401)], "containers[1]"],
    ["search_indexes", texts(20), texts(21), "search_indexes"],
    ["search_indexes", ["x".repeat(4_096)], ["x".repeat(4_097)], "search_indexes[0]"],
    ["metadata", entries(50), entries(51), "metadata"],
    ["metadata", { ["k".repeat(200)]: "" }, { ["k".repeat(201)]: "" }, `metadata.${"k".repeat(191)}`],
    ["metadata", { k: "v".repeat(1_000) }, { k: "v".repeat(1_001) }, "metadata.k"],
    ["metadata", { k: WHALE.repeat(1_000) }, { k: WHALE.repeat(1_001) }, "metadata.k"],
  ])("has a limit of %s, in Unicode characters: %.0s%.0sbeyond it %.30s is named", (name, longest, longer, field) => {
    expect(() => read({ [name]: longest })).not.toThrow();
    expect(Object.keys(faultFields(() => read({ [name]: longer })) ?? {})).toEqual([field]);
  });

  it.each<[JsonObject, Record<string, string>]>([
    [{ id: 5 }, { id: "must be a string" }],
    [{ type: ["card"] }, { type: "must be a string" }],
    [{ id: "a\0b" }, { id: "must be a string without NUL characters" }],
    [{ containers: "/a/" }, { containers: "must be a list" }],
    [{ containers: { 0: "/a/" } }, { containers: "must be a list" }],
    [{ containers: ["/a/", null] }, { "containers[1]": "must be a string that is not empty" }],
    [{ containers: [""] }, { "containers[0]": "must be a string that is not empty" }],
    [{ search_indexes: [5] }, { "search_indexes[0]": "must be a string" }],
    [{ metadata: [] }, { metadata: "must be an object of strings" }],
    [{ metadata: { a: 1, b: null } }, { "metadata.a": "must be a string", "metadata.b": "must be a string" }],
    [{ metadata: { "": "x" } }, { "metadata.": "must have a name of 1 to 200 characters" }],
    [{ metadata: { a: "\0" } }, { "metadata.a": "must be a string without NUL characters" }],
    [{ deduplicate_token: "true" }, { deduplicate_token: "must be true or false" }],
    [{ container: ["/a/"] }, { container: "is not known; containers is" }],
    [{ encrypted: "x" }, { encrypted: "is not served: send the data itself, over TLS" }],
  ])("with %j is rejected: %j", (fields, faults) => {
    const expected = Object.fromEntries(Object.entries(faults).map(([field, text]) => [field, [text]]));
    expect(faultFields(() => read(fields))).toEqual(expected);
  });

  it("names all wrong fields at once", () => {
    const wrong = { id: 1, type: 2, data: null, mask: 3, containers: 4, metadata: 5, deduplicate_token: 6 };
    const names = ["id", "type", "metadata", "containers", "deduplicate_token", "data"];
    expect(Object.keys(faultFields(() => readDraft(wrong)) ?? {})).toEqual(names);
  });

  it("keeps metadata by the name __proto__", () => {
    const metadata: Json = JSON.parse('{"__proto__":"x"}');
    expect(JSON.stringify(read({ metadata }).attributes.metadata)).toBe('{"__proto__":"x"}');
  });

  it("is read or rejected with a fault, whatever it holds", () => {
    const names = ["id", "type", "data", "mask", "containers", "metadata", "search_indexes", "expires_at", "other"];
    fc.assert(
      fc.property(fc.dictionary(fc.constantFrom(...names), arbitraryJson), (request) => {
        try {
          readDraft(request);
        } catch (error) {
          expect(error).toBeInstanceOf(Fault);
        }
      }),
    );
  });
});
