import type { TimeSpan } from "../../base/time-span.js";

/** The position of a token in every list: by age, then by id. */
export interface TokenKey {
  readonly created_at: Date;
  readonly id: string;
}

/** One condition on tokens. Each has an index that is sorted by age. */
export type KeyFilter =
  | { readonly kind: "type"; readonly type: string }
  /** Any of these types, of which there are two or more. */
  | { readonly kind: "types"; readonly types: readonly string[] }
  | { readonly kind: "fingerprint"; readonly fingerprint: Buffer }
  | { readonly kind: "term"; readonly term: Buffer };

/** The source of a list's keys, in order of age: an index that is read from either end, or a few given ids. */
export type KeySource =
  | { readonly kind: "all" }
  | KeyFilter
  | { readonly kind: "ids"; readonly ids: readonly string[] }
  | { readonly kind: "terms"; readonly terms: readonly Buffer[] };

export type Requirement =
  /** The token is in or below the container of this term. */
  | { readonly kind: "below"; readonly term: Buffer }
  /** The token is in exactly this container, or in one with this prefix. */
  | { readonly kind: "container" | "container_prefix"; readonly text: string }
  | { readonly kind: "id"; readonly text: string }
  | { readonly kind: "id_prefix"; readonly text: string };

export type ScopeAlternative = readonly Requirement[];

export interface TokenSelection {
  readonly source: KeySource;
  /** Each of these must hold too. */
  readonly also: readonly KeyFilter[];
  /**
   * Whether the source has few keys, each of which is then looked up in the other indexes. Otherwise both are read side
   * by side, which took 0.2 s among a million tokens where twenty look-ups take 0.2 ms. Reading is faster from some ten
   * thousand keys on.
   */
  readonly isNarrow: boolean;
  /** Each must hold, by at least one of its alternatives. */
  readonly scopes: readonly (readonly ScopeAlternative[])[];
  /**
   * Whether the scopes cover many tokens. If so, each key of a page is checked (6 us). Reading the whole scopes first
   * takes 65 ms for 50,000 tokens, and may then skip many keys, which is too slow for a page of 20.
   */
  readonly hasLargeScopes: boolean;
  readonly without: Expired;
  /** When they were created; absent if that does not matter. */
  readonly span?: TimeSpan | undefined;
}

/** Tokens that have expired and are not swept yet: by id if they are few, otherwise all that have expired at a time. */
export type Expired =
  | { readonly kind: "few"; readonly ids: readonly string[] }
  | { readonly kind: "many"; readonly at: Date };

export const NONE_EXPIRED: Expired = { kind: "few", ids: [] };
