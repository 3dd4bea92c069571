import type { TimeSpan } from "../base/time-span.js";

/** The place of a token in every list: by age, then by id. */
export interface TokenKey {
  readonly created_at: Date;
  readonly id: string;
}

/** One thing that is asked of tokens. Each has an index that is sorted by age. */
export type KeyFilter =
  | { readonly kind: "type"; readonly type: string }
  | { readonly kind: "fingerprint"; readonly fingerprint: Buffer }
  | { readonly kind: "term"; readonly term: Buffer };

/** Where the keys of a list come from, in order of age: an index, walked from either end, but for a few named ones. */
export type KeySource =
  | { readonly kind: "all" }
  | KeyFilter
  /** Those of these tokens that there are. */
  | { readonly kind: "ids"; readonly ids: readonly string[] }
  /** Tokens with any of the terms. */
  | { readonly kind: "terms"; readonly terms: readonly Buffer[] };

/** Something that a caller's right to see a token depends on. */
export type Requirement =
  /** It lies in or below the container of this term. */
  | { readonly kind: "below"; readonly term: Buffer }
  /** It lies in exactly this container, or in one that begins so. */
  | { readonly kind: "container" | "container_prefix"; readonly text: string }
  | { readonly kind: "id"; readonly text: string }
  | { readonly kind: "id_prefix"; readonly text: string };

/** One way for a token to be visible: all of it must hold. */
export type ScopeAlternative = readonly Requirement[];

/** Which tokens a list is about. */
export interface TokenSelection {
  readonly source: KeySource;
  /** Each of these must hold too. */
  readonly also: readonly KeyFilter[];
  /**
   * The source has few keys, and each is looked up among what else must hold. Otherwise both are walked side by side, which
   * among a million took 0.2 s where twenty look-ups take 0.2 ms, and is the faster from some ten thousand keys on.
   */
  readonly isNarrow: boolean;
  /** Each of these must hold, by one of its alternatives. */
  readonly scopes: readonly (readonly ScopeAlternative[])[];
  /**
   * What the scopes consist of is large: for each key of a page it is looked up (6 us) whether it belongs to them. To know
   * all of them first takes 65 ms for 50,000 tokens, and may then walk past many keys: a page of 20 waits for neither.
   */
  readonly hasLargeScopes: boolean;
  readonly without: Expired;
  /** When they were created; left out where that does not matter. */
  readonly span?: TimeSpan | undefined;
}

/** Tokens that have expired and are not swept yet: by name while they are few, else whatever has expired at a time. */
export type Expired =
  | { readonly kind: "few"; readonly ids: readonly string[] }
  | { readonly kind: "many"; readonly at: Date };

export const NONE_EXPIRED: Expired = { kind: "few", ids: [] };
