import { parseContainer } from "../access/container.js";
import { invalid } from "../base/fault.js";
import { ANY_TIME, type TimeSpan } from "../base/time-span.js";
import { readFingerprint } from "../crypto/keyed-hash.js";
import type { TenantKeys } from "../crypto/tenant-keys.js";
import type { KeyFilter } from "../store/tokens/token-selection.js";
import { readCondition } from "./search/conditions.js";
import { type Conjunction, type Literal, toConjunctions } from "./search/conjunctions.js";
import { parseSearchQuery, type SearchExpression } from "./search/parse-query.js";
import { requiredSpan } from "./search/sources.js";
import { containerTerm, indexTerm, metadataTerm } from "./terms.js";
import { tokenType } from "./types/registry.js";

/** The filter of a list or search, before the caller's rules narrow it. */
export interface TokenFilter {
  readonly ids: readonly string[] | undefined;
  /** All of these must hold. */
  readonly filters: readonly KeyFilter[];
  /** Required metadata, compared case-insensitively; the filters above contain the same. */
  readonly metadata: readonly (readonly [string, string])[];
  /** Compared case-sensitively after the token is opened: the terms contain lower-case metadata only. */
  readonly exactMetadata: readonly (readonly [string, string])[];
  /** Types of which a token must have one; the filters above contain the same. Undefined for any type. */
  readonly types: readonly string[] | undefined;
  /** The span of creation times. */
  readonly span: TimeSpan;
  /** Conditions of a search beyond all these: any of the conjunctions must hold. */
  readonly conjunctions: readonly Conjunction[] | undefined;
  /** Identifies the filter in cursors and in memory: the same text for the same filter. */
  readonly name: readonly string[];
}

const ALL: Omit<TokenFilter, "name"> = {
  ids: undefined,
  filters: [],
  metadata: [],
  exactMetadata: [],
  types: undefined,
  span: ANY_TIME,
  conjunctions: undefined,
};

/** The filter fields of GET /tokens. Each is empty for no limit. */
export interface ListFilterFields {
  readonly id: readonly string[];
  readonly type: readonly string[];
  readonly metadata: Readonly<Record<string, string>>;
}

/**
 * GET /tokens: one of the ids, one of the types, and all of the metadata.
 * @throws {Fault} validation_failed naming the first unknown type.
 */
export function listFilter(keys: TenantKeys, { id: ids, type, metadata }: ListFilterFields): TokenFilter {
  const pairs = Object.entries(metadata);
  const types = [...new Set(type.map((name, index) => tokenType(name, `type[${index}]`).name))].sort();
  return {
    ...ALL,
    ids: ids.length > 0 ? ids : undefined,
    types: types.length > 0 ? types : undefined,
    filters: [...typeFilters(types), ...pairs.map(([key, value]) => metadataFilter(keys, key, value))],
    metadata: pairs,
    name: [
      "list",
      ...ids,
      "type",
      ...types,
      "metadata",
      ...pairs.flatMap(([key, value]) => [key, value.toLowerCase()]),
    ],
  };
}

function typeFilters(types: readonly string[]): KeyFilter[] {
  const [only, ...others] = types;
  if (only === undefined) return [];
  return [others.length === 0 ? { kind: "type", type: only } : { kind: "types", types }];
}

/**
 * POST /tokens/search: a query as in docs/search.md. A query of indexed terms is listed like any other list
 * (`listTokenKeys`); every other query is compared token by token (`findMatches`).
 * @throws {Fault} validation_failed naming `query`.
 */
export function searchFilter(keys: TenantKeys, query: string): TokenFilter {
  const name = ["search", query.trim()];
  const expression = parseSearchQuery(query);
  if (!expression) return { ...ALL, name };
  const conjunctions = toConjunctions(readCondition(keys, expression));
  const [conjunction, ...others] = conjunctions;
  const listed = conjunction && others.length === 0 ? listedFilter([...conjunction.values()]) : undefined;
  return listed ? { ...ALL, ...listed, name } : { ...ALL, conjunctions, name };
}

/** Terms with an index, all of which must hold; undefined if there is any other condition. */
function listedFilter(literals: readonly Literal[]): Pick<TokenFilter, "ids" | "filters" | "span"> | undefined {
  if (literals.some(({ isNegated }) => isNegated)) return undefined;
  const tests = literals.map(({ test }) => test);
  const [first, ...others] = tests;
  if (first?.kind === "id" && others.length === 0) return { ids: [first.id], filters: [], span: ANY_TIME };
  const filters = tests.flatMap((test): KeyFilter[] =>
    test.kind === "type" || test.kind === "fingerprint" || test.kind === "term" ? [test] : [],
  );
  const spans = tests.filter(({ kind }) => kind === "created_at");
  if (filters.length + spans.length < tests.length) return undefined;
  // One of each kind: a token cannot have two types, so no index covers a filter with two.
  const single = filters.flatMap(({ kind }) => (kind === "term" ? [] : [kind]));
  if (new Set(single).size < single.length) return undefined;
  return { ids: undefined, filters, span: requiredSpan(tests) };
}

/** The filter fields of lists by cursor: each at most once, and only one of them beside the container. */
export interface CursorFilterFields {
  readonly container: string | undefined;
  readonly type: string | undefined;
  readonly fingerprint: string | undefined;
  readonly data: string | undefined;
  readonly metadata: Readonly<Record<string, string>>;
}

/** @throws {Fault} validation_failed naming the problem, under `place` if the fields are terms of a query. */
export function cursorFilter(keys: TenantKeys, fields: CursorFilterFields, place?: string): TokenFilter {
  const pairs = Object.entries(fields.metadata);
  const narrowing = (["type", "fingerprint", "data"] as const).filter((name) => fields[name] !== undefined);
  const [, second] = [...narrowing, ...pairs.map(([key]) => `metadata.${key}`)];
  if (second) throw invalid(place ?? second, "must be the only filter, beside the container");
  const narrow = filterOf(keys, fields, pairs, place);
  const container =
    fields.container === undefined ? undefined : containerFilter(keys, fields.container, place ?? "container");
  return {
    ...ALL,
    filters: [narrow, container].filter((filter) => filter !== undefined),
    exactMetadata: pairs,
    name: [
      "cursor",
      fields.container?.toLowerCase() ?? "",
      fields.type ?? "",
      fields.fingerprint ?? "",
      fields.data ?? "",
      ...pairs.flat(),
    ],
  };
}

/** POST /v2/tokens/search: `container:`, `type:`, `fingerprint:`, `metadata.` and `data:`. */
export function cursorSearchFields(query: string): CursorFilterFields {
  const expression = parseSearchQuery(query);
  const terms = (expression?.kind === "all" ? expression.of : expression ? [expression] : []).map(plainTerm);
  const only = (field: string) => {
    const found = terms.filter((term) => term.field === field);
    if (found.length > 1) throw invalid("query", `must hold ${field} only once`);
    return found[0]?.value;
  };
  const unknown = terms.find(({ field }) => !CURSOR_FIELDS.includes(field));
  if (unknown) throw invalid("query", `must search in ${CURSOR_FIELDS.join(", ")}, not ${unknown.field}`);
  const metadata = terms.filter(({ field }) => field === "metadata");
  if (metadata.length > 1) throw invalid("query", "must hold metadata only once");
  return {
    container: only("container"),
    type: only("type"),
    fingerprint: only("fingerprint"),
    data: only("data"),
    metadata: Object.fromEntries(metadata.map(({ key = "", value }) => [key, value])),
  };
}

/** A term of a search by cursor, which supports only AND. */
function plainTerm(part: SearchExpression) {
  if (part.kind === "term" && !part.isNegated && part.term.value.kind === "text") {
    return { ...part.term, value: part.term.value.text };
  }
  throw invalid("query", "must be terms joined by AND: OR, NOT and ranges are for POST /tokens/search");
}

const CURSOR_FIELDS = ["container", "type", "fingerprint", "metadata", "data"];

function filterOf(
  keys: TenantKeys,
  { type, fingerprint, data }: CursorFilterFields,
  pairs: readonly (readonly [string, string])[],
  place: string | undefined,
): KeyFilter | undefined {
  const [pair] = pairs;
  if (pair) return metadataFilter(keys, pair[0], pair[1]);
  if (data !== undefined) return { kind: "term", term: indexTerm(keys, data) };
  if (type !== undefined) return { kind: "type", type: tokenType(type, place).name };
  if (fingerprint === undefined) return undefined;
  const read = readFingerprint(fingerprint);
  if (!read) throw invalid(place ?? "fingerprint", "must be a fingerprint as tokens show it");
  return { kind: "fingerprint", fingerprint: read };
}

function containerFilter(keys: TenantKeys, text: string, field: string): KeyFilter | undefined {
  // Token searches always include everything below a container, so a trailing wildcard changes nothing.
  const path = parseContainer(text.endsWith("/*") ? text.slice(0, -1) : text, field);
  return path === "/" ? undefined : { kind: "term", term: containerTerm(keys, path) };
}

function metadataFilter(keys: TenantKeys, key: string, value: string): KeyFilter {
  return { kind: "term", term: metadataTerm(keys, key, value) };
}
