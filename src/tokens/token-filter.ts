import { parseContainer } from "../access/container.js";
import { invalid } from "../base/fault.js";
import { readFingerprint } from "../crypto/keyed-hash.js";
import type { TenantKeys } from "../crypto/tenant-keys.js";
import type { KeyFilter } from "../store/token-selection.js";
import { parseSearchTerms, type SearchTerm } from "./search-query.js";
import { containerTerm, indexTerm, metadataTerm } from "./terms.js";
import { tokenType } from "./types/registry.js";

/** What a list or search asks for, before the caller's rules narrow it. */
export interface TokenFilter {
  /** Only these ids; undefined: no such limit. */
  readonly ids: readonly string[] | undefined;
  /** All of these must hold. */
  readonly filters: readonly KeyFilter[];
  /** Metadata that must be there, compared without case; the filters above say the same. */
  readonly metadata: readonly (readonly [string, string])[];
  /** Compared with case, once the token is opened: the terms know metadata without case only. */
  readonly exactMetadata: readonly (readonly [string, string])[];
  /** Names the filter in cursors and in memory: the same text for the same question. */
  readonly name: readonly string[];
}

/** GET /tokens: ids and metadata, each as often as wanted, all of which must hold. */
export function listFilter(
  keys: TenantKeys,
  ids: readonly string[],
  metadata: Readonly<Record<string, string>>,
): TokenFilter {
  const pairs = Object.entries(metadata);
  return {
    ids: ids.length > 0 ? ids : undefined,
    filters: pairs.map(([key, value]) => metadataFilter(keys, key, value)),
    metadata: pairs,
    exactMetadata: [],
    name: ["list", ...ids, "metadata", ...pairs.flatMap(([key, value]) => [key, value.toLowerCase()])],
  };
}

/**
 * POST /tokens/search: one `id:` or `data:` term, or `metadata.` terms joined by AND (api-facts 5.7).
 * @throws {Fault} validation_failed naming `query`.
 */
export function searchFilter(keys: TenantKeys, query: string): TokenFilter {
  const terms = parseSearchTerms(query);
  const [first] = terms;
  const name = ["search", ...terms.flatMap(({ field, key = "", value }) => [field, key, value])];
  const plain = { ids: undefined, filters: [], metadata: [], exactMetadata: [], name };
  if (!first) return plain;
  if (terms.every(({ field }) => field === "metadata")) {
    return { ...plain, filters: terms.map(({ key = "", value }) => metadataFilter(keys, key, value)) };
  }
  if (terms.length > 1) throw invalid("query", "must be a single id: or data: term, or metadata terms joined by AND");
  switch (first.field) {
    case "id":
      return { ...plain, ids: [first.value] };
    case "data":
      return { ...plain, filters: [{ kind: "term", term: indexTerm(keys, first.value) }] };
    default:
      throw invalid("query", `must search in id, data or metadata; ${first.field} is none of them`);
  }
}

/** What the lists by cursor filter by: each at most once, and beside the container only one. */
export interface CursorFilterFields {
  readonly container: string | undefined;
  readonly type: string | undefined;
  readonly fingerprint: string | undefined;
  readonly data: string | undefined;
  readonly metadata: Readonly<Record<string, string>>;
}

/** @throws {Fault} validation_failed naming what is wrong, under `place` where the fields are terms of a query. */
export function cursorFilter(keys: TenantKeys, fields: CursorFilterFields, place?: string): TokenFilter {
  const pairs = Object.entries(fields.metadata);
  const narrowing = (["type", "fingerprint", "data"] as const).filter((name) => fields[name] !== undefined);
  const [, second] = [...narrowing, ...pairs.map(([key]) => `metadata.${key}`)];
  if (second) throw invalid(place ?? second, "must be the only filter, beside the container");
  const narrow = filterOf(keys, fields, pairs, place);
  const container =
    fields.container === undefined ? undefined : containerFilter(keys, fields.container, place ?? "container");
  return {
    ids: undefined,
    filters: [narrow, container].filter((filter) => filter !== undefined),
    metadata: [],
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

/** POST /v2/tokens/search: `container:`, `type:`, `fingerprint:`, `metadata.` and `data:` (api-facts 5.8). */
export function cursorSearchFields(query: string): CursorFilterFields {
  const terms = parseSearchTerms(query);
  const only = (field: string) => {
    const found = terms.filter((term) => term.field === field);
    if (found.length > 1) throw invalid("query", `must hold ${field} only once`);
    return found[0]?.value;
  };
  const unknown = terms.find(({ field }) => !CURSOR_FIELDS.includes(field));
  if (unknown) throw invalid("query", `must search in ${CURSOR_FIELDS.join(", ")}; ${unknown.field} is none of them`);
  const metadata = terms.filter(({ field }) => field === "metadata");
  if (metadata.length > 1) throw invalid("query", "must hold metadata only once");
  return {
    container: only("container"),
    type: only("type"),
    fingerprint: only("fingerprint"),
    data: only("data"),
    metadata: Object.fromEntries(metadata.map(({ key = "", value }: SearchTerm) => [key, value])),
  };
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
  // Tokens search below a container, so that a trailing wildcard says nothing new.
  const path = parseContainer(text.endsWith("/*") ? text.slice(0, -1) : text, field);
  return path === "/" ? undefined : { kind: "term", term: containerTerm(keys, path) };
}

function metadataFilter(keys: TenantKeys, key: string, value: string): KeyFilter {
  return { kind: "term", term: metadataTerm(keys, key, value) };
}
