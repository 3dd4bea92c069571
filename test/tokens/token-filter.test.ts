import { describe, expect, it } from "vitest";
import { storedContainer } from "../../src/access/container.js";
import { hashFingerprint, showFingerprint } from "../../src/crypto/keyed-hash.js";
import type { KeyFilter } from "../../src/store/tokens/token-selection.js";
import { containerTerm, indexTerm, metadataTerm } from "../../src/tokens/terms.js";
import {
  type CursorFilterFields,
  cursorFilter,
  cursorSearchFields,
  type ListFilterFields,
  listFilter,
  searchFilter,
  type TokenFilter,
} from "../../src/tokens/token-filter.js";
import { faultFields } from "../expressions/faults.js";
import { newTenantKeys } from "../support/tenant-keys.js";

const KEYS = newTenantKeys();
const PRINT = hashFingerprint(KEYS.fingerprint, "card", "4242424242424242");

/** A filter in words, with the terms that the tests below use by their names. */
function inWords(filter: KeyFilter): string {
  switch (filter.kind) {
    case "type":
      return `type ${filter.type}`;
    case "types":
      return `types ${filter.types.join(" ")}`;
    case "fingerprint":
      return "fingerprint";
    case "term":
      return KNOWN_TERMS.find(([, term]) => term.equals(filter.term))?.[0] ?? "an unknown term";
  }
}

const KNOWN_TERMS: readonly (readonly [string, Buffer])[] = [
  ["metadata a=1", metadataTerm(KEYS, "a", "1")],
  ["metadata b=zoë", metadataTerm(KEYS, "b", "zoë")],
  ["data x", indexTerm(KEYS, "x")],
  ["data X*", indexTerm(KEYS, "X*")],
  ["below /a/", containerTerm(KEYS, storedContainer("/a/"))],
];

const wordsOf = ({ filters }: TokenFilter) => filters.map(inWords);
const list = (fields: Partial<ListFilterFields>) => listFilter(KEYS, { id: [], type: [], metadata: {}, ...fields });

describe("the filter of GET /tokens", () => {
  it.each<[Partial<ListFilterFields>, readonly string[], readonly string[] | undefined]>([
    [{}, [], undefined],
    [{ id: ["x", "y"] }, [], ["x", "y"]],
    [{ type: ["card"] }, ["type card"], undefined],
    [{ type: ["token", "card", "token"] }, ["types card token"], undefined],
    [{ metadata: { a: "1", b: "Zoë" } }, ["metadata a=1", "metadata b=zoë"], undefined],
    [{ id: ["x"], type: ["card"], metadata: { a: "1" } }, ["type card", "metadata a=1"], ["x"]],
  ])("%j asks for %j and the ids %j", (fields, words, ids) => {
    const filter = list(fields);
    expect(wordsOf(filter)).toEqual(words);
    expect(filter.ids).toEqual(ids);
  });

  it("names the type that does not exist by its place", () => {
    expect(Object.keys(faultFields(() => list({ type: ["card", "cash"] })) ?? {})).toEqual(["type[1]"]);
  });

  it("has a name of its own for each selection, which cursors and remembered totals are bound to", () => {
    const different: readonly Partial<ListFilterFields>[] = [
      ...[{}, { id: ["a"] }, { id: ["a", "b"] }, { id: ["b", "a"] }, { type: ["card"] }, { type: ["card", "bank"] }],
      ...[{ metadata: { a: "1" } }, { metadata: { a: "1", b: "2" } }, { id: ["card"] }, { metadata: { type: "card" } }],
    ];
    const names = different.map((fields) => JSON.stringify(list(fields).name));
    expect(new Set(names).size).toBe(different.length);
    expect(list({ type: ["card", "bank"] }).name).toEqual(list({ type: ["bank", "card", "bank"] }).name);
    expect(list({ metadata: { b: "ZOË" } }).name).toEqual(list({ metadata: { b: "zoë" } }).name);
  });
});

describe("a search", () => {
  it.each<[string, readonly string[], readonly string[] | undefined]>([
    ["", [], undefined],
    ["id:x", [], ["x"]],
    ["type:card", ["type card"], undefined],
    ["data:x", ["data x"], undefined],
    ['data:"X*"', ["data X*"], undefined],
    ["metadata.a:1 AND metadata.b:ZOË", ["metadata a=1", "metadata b=zoë"], undefined],
    ["container:/a/*", ["below /a/"], undefined],
    ["type:card AND container:/A/* AND data:x", ["type card", "below /a/", "data x"], undefined],
    [`fingerprint:${showFingerprint(PRINT)}`, ["fingerprint"], undefined],
    ["data:x AND data:x", ["data x"], undefined],
    ["NOT NOT data:x", ["data x"], undefined],
  ])("%j is listed from indexes: %j, ids %j", (query, words, ids) => {
    const filter = searchFilter(KEYS, query);
    expect(filter.conjunctions).toBeUndefined();
    expect([wordsOf(filter), filter.ids]).toEqual([words, ids]);
  });

  it.each([
    ["id:x AND type:card", 1],
    ["type:card AND type:bank", 1],
    ["type:card OR type:bank", 2],
    ["NOT type:card", 1],
    ["container:/a/", 1],
    ["data:x AND NOT data:y", 1],
    ["created_by:01890000-0000-7000-8000-000000000001", 1],
    ["modified_at:2026-01-01", 1],
    ["data:x AND NOT data:x", 0],
  ])("%j is compared with each token, in %d alternatives", (query, alternatives) => {
    const filter = searchFilter(KEYS, query);
    expect(filter.conjunctions).toHaveLength(alternatives);
    expect(filter.filters).toEqual([]);
  });

  it("limits the time in which tokens were created", () => {
    const { span } = searchFilter(KEYS, "type:card AND created_at:[2026-01-01 TO 2026-01-31]");
    expect(span).toEqual({ from: new Date("2026-01-01"), before: new Date("2026-02-01") });
  });
});

const NO_FIELDS: CursorFilterFields = {
  ...{ container: undefined, type: undefined, fingerprint: undefined, data: undefined },
  metadata: {},
};

describe("the filter of a list by cursor", () => {
  it.each<[Partial<CursorFilterFields>, readonly string[]]>([
    [{}, []],
    [{ container: "/" }, []],
    [{ container: "/A/" }, ["below /a/"]],
    [{ container: "/a/*" }, ["below /a/"]],
    [{ type: "card" }, ["type card"]],
    [{ data: "x" }, ["data x"]],
    [{ metadata: { a: "1" } }, ["metadata a=1"]],
    [{ container: "/a/", type: "card" }, ["type card", "below /a/"]],
    [{ fingerprint: showFingerprint(PRINT) }, ["fingerprint"]],
  ])("%j asks for %j", (fields, words) => {
    expect(wordsOf(cursorFilter(KEYS, { ...NO_FIELDS, ...fields }))).toEqual(words);
  });

  it("compares metadata with its case once the token is open, because the term has none", () => {
    expect(cursorFilter(KEYS, { ...NO_FIELDS, metadata: { b: "Zoë" } }).exactMetadata).toEqual([["b", "Zoë"]]);
  });

  it.each<[Partial<CursorFilterFields>, string]>([
    [{ type: "card", data: "x" }, "data"],
    [{ type: "card", metadata: { a: "1" } }, "metadata.a"],
    [{ metadata: { a: "1", b: "2" } }, "metadata.b"],
    [{ fingerprint: "x" }, "fingerprint"],
    [{ container: "a" }, "container"],
    [{ container: "/a/**" }, "container"],
    [{ type: "cash" }, "type"],
  ])("%j is rejected and names %s, or the query if it is one", (fields, field) => {
    const all = { ...NO_FIELDS, ...fields };
    expect(Object.keys(faultFields(() => cursorFilter(KEYS, all)) ?? {})).toEqual([field]);
    expect(Object.keys(faultFields(() => cursorFilter(KEYS, all, "query")) ?? {})).toEqual(["query"]);
  });

  it.each<[string, Partial<CursorFilterFields>]>([
    ["", {}],
    ["type:card", { type: "card" }],
    ["container:/a/* AND data:x", { container: "/a/*", data: "x" }],
    ["(metadata.b:Zoë AND container:/a/)", { metadata: { b: "Zoë" }, container: "/a/" }],
  ])("is read from the query %j", (query, fields) => {
    expect(cursorSearchFields(query)).toEqual({ ...NO_FIELDS, ...fields });
  });

  it.each([
    ["type:card OR type:bank", "must be terms joined by AND"],
    ["NOT type:card", "must be terms joined by AND"],
    ["type:card AND type:bank", "must hold type only once"],
    ["metadata.a:1 AND metadata.b:2", "must hold metadata only once"],
    ["id:x", "must search in container, type, fingerprint, metadata, data, not id"],
    ["created_at:[2026-01-01 TO *]", "must be terms joined by AND"],
  ])("cannot be the query %j: it %s", (query, problem) => {
    expect(faultFields(() => cursorSearchFields(query))).toEqual({ query: [expect.stringContaining(problem)] });
  });
});
