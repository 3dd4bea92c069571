import type { KeyObject } from "node:crypto";
import { type ContainerPath, withAncestors } from "../access/container.js";
import { searchTerm } from "../crypto/keyed-hash.js";
import type { TenantKeys } from "../crypto/tenant-keys.js";
import type { TermRow } from "../store/tokens/token-terms.js";

export interface Findable {
  readonly id: string;
  readonly createdAt: Date;
  readonly containers: readonly ContainerPath[];
  readonly metadata: Readonly<Record<string, string>>;
  readonly indexValues: readonly string[];
}

/** Metadata is compared case-insensitively: the term uses the lower-case value. */
export function metadataTerm(keys: TenantKeys, key: string, value: string): Buffer {
  return searchTerm(keys.search, "metadata", key, value.toLowerCase());
}

/** Values of search indexes are compared case-sensitively. */
export function indexTerm(keys: TenantKeys, value: string): Buffer {
  return searchTerm(keys.search, "index", "", value);
}

/** Containers per tenant whose terms are cached as long as its keys: most tokens are in the same few. */
const REMEMBERED = 100;
const containerTerms = new WeakMap<KeyObject, Map<ContainerPath, Buffer>>();

/** Finds every token in a container or below it. */
export function containerTerm({ search }: TenantKeys, path: ContainerPath): Buffer {
  const terms = containerTerms.get(search) ?? new Map<ContainerPath, Buffer>();
  containerTerms.set(search, terms);
  const known = terms.get(path);
  if (known) return known;
  const term = searchTerm(search, "container", "", path);
  if (terms.size < REMEMBERED) terms.set(path, term);
  return term;
}

function distinct<Text extends string>(texts: readonly Text[]): readonly Text[] {
  return texts.length > 1 ? [...new Set(texts)] : texts;
}

/** All terms of a token, each once: terms of different parts differ. Deterministic for the same token. */
export function tokenTerms(
  keys: TenantKeys,
  { id, createdAt, containers, metadata, indexValues }: Findable,
): TermRow[] {
  const paths = containers.flatMap(withAncestors);
  // Those of a single container differ.
  const terms = (containers.length > 1 ? distinct(paths) : paths).map((path) => containerTerm(keys, path));
  for (const [key, value] of Object.entries(metadata)) terms.push(metadataTerm(keys, key, value));
  for (const value of distinct(indexValues)) terms.push(indexTerm(keys, value));
  return terms.map((term) => ({ term, created_at: createdAt, token_id: id }));
}
