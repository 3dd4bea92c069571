import type { Caller } from "../access/caller.js";
import type { TokenPermission } from "../access/permissions.js";
import type { TenantKeys } from "../crypto/tenant-keys.js";
import { findExpired } from "../store/tokens/expired-tokens.js";
import { countTokenKeys } from "../store/tokens/token-keys.js";
import {
  type KeyFilter,
  type KeySource,
  NONE_EXPIRED,
  type ScopeAlternative,
  type TokenSelection,
} from "../store/tokens/token-selection.js";
import type { TokenRow } from "../store/tokens/tokens.js";
import type { Transaction } from "../store/transactions/transaction.js";
import { visibleScopes } from "./scope.js";
import type { TokenFilter } from "./token-filter.js";

export interface TokenQuery {
  readonly caller: Caller;
  readonly keys: TenantKeys;
  /** For lists, searches and exports. Decides what is visible and how it is shown. */
  readonly permission: Extract<TokenPermission, "token:read" | "token:search" | "token:export">;
  readonly filter: TokenFilter;
  /** Of the request. A list that is not waited for any more ends. */
  readonly signal?: AbortSignal;
  /** Whether the data of a token is shown as the rules say. Otherwise nothing of it is. Absent: of every token. */
  readonly mayShow?: MayShow;
}

export type MayShow = (row: Pick<TokenRow, "type" | "containers" | "created_at" | "modified_at">) => boolean;

/**
 * A filter with at most this many tokens is rare: looking each of them up is faster than walking a common index beside
 * it.
 */
const RARE = 10_000;

/**
 * Counting up to this many takes 0.1 ms; counting up to {@link RARE} for each filter takes longer than the rest of a
 * list.
 */
const FEW = 500;

/** Containers with more tokens than this in total are large: see {@link TokenSelection.hasLargeScopes}. */
const LARGE = 50_000;

/** The combined selection of the caller's rules and the filter. Their database queries share one round trip. */
export async function selectTokens(tx: Transaction, query: TokenQuery): Promise<TokenSelection> {
  const [without, chosen] = await Promise.all([tx.query(findExpired, tx.tenantId), chooseKeys(tx, query)]);
  return { ...chosen, without, span: query.filter.span };
}

type ChosenKeys = Omit<TokenSelection, "without">;

async function chooseKeys(tx: Transaction, { caller, keys, permission, filter }: TokenQuery): Promise<ChosenKeys> {
  const visible = visibleScopes(caller.grant, permission, keys);
  // A scope with a single container is one more search term; several containers are a union.
  const single = visible.flatMap((scope) => (scope.length === 1 ? (containersOf(scope) ?? []) : []));
  const scopes = visible.filter((scope) => scope.length !== 1 || !containersOf(scope));
  const [scope, ...further] = scopes;
  const union = scope && scope.length > 0 && further.length === 0 ? containersOf(scope) : undefined;
  const terms = [...filter.filters, ...single.map((term): KeyFilter => ({ kind: "term", term }))];
  const filters = distinct(terms);
  const ids = scopes.map(idsOf).find((named) => named !== undefined);
  if (ids) return { ...walk({ kind: "ids", ids }), also: filters, isNarrow: true, scopes };
  const [first, ...others] = filters;
  if (!first) return union ? walk({ kind: "terms", terms: union }) : { ...walk({ kind: "all" }), scopes };
  if (others.length === 0 && scopes.length === 0) return walk(first);
  return rarestFirst(tx, [first, ...others], union, scopes);
}

function walk(source: KeySource): ChosenKeys {
  return { source, also: [], isNarrow: false, scopes: [], hasLargeScopes: true };
}

/** The containers that a scope consists of, or undefined if it requires anything else. */
function containersOf(scope: readonly ScopeAlternative[]): readonly Buffer[] | undefined {
  const terms = scope.flatMap(([only, ...more]) => (only?.kind === "below" && more.length === 0 ? [only.term] : []));
  return terms.length === scope.length ? terms : undefined;
}

/** The distinct tokens that a scope consists of, or undefined if it is not limited to single tokens. */
function idsOf(scope: readonly ScopeAlternative[]): readonly string[] | undefined {
  const ids = scope.flatMap((alternative) => alternative.find((required) => required.kind === "id")?.text ?? []);
  return ids.length > 0 && ids.length === scope.length ? [...new Set(ids)] : undefined;
}

function distinct(filters: readonly KeyFilter[]): KeyFilter[] {
  return [
    ...new Map(
      filters.map((filter) => [filter.kind === "term" ? filter.term.toString("latin1") : filter.kind, filter]),
    ).values(),
  ];
}

/** Puts the filter with the fewest tokens first. It may be the union of the containers that the caller sees. */
async function rarestFirst(
  tx: Transaction,
  filters: readonly KeyFilter[],
  union: readonly Buffer[] | undefined,
  scopes: TokenSelection["scopes"],
): Promise<ChosenKeys> {
  const [rarest, ...others] = (await countEach(tx, filters)).sort((a, b) => a.n - b.n);
  if (!rarest) throw new Error("there is nothing to begin with");
  const isNarrow = rarest.n < RARE;
  const n = union && !isNarrow ? await countTogether(tx, union) : LARGE;
  if (union && n < RARE) {
    return { ...walk({ kind: "terms", terms: union }), also: filters, isNarrow: true };
  }
  const also = others.map(({ filter }) => filter);
  return { source: rarest.filter, also, isNarrow, scopes, hasLargeScopes: n >= LARGE };
}

/** The number of tokens of each filter. If one has few, it comes first, and the others are counted only that far. */
async function countEach(tx: Transaction, filters: readonly KeyFilter[]) {
  const count = (most: number) =>
    Promise.all(filters.map(async (filter) => ({ filter, n: await countUpTo(tx, most, filter) })));
  const counted = await count(FEW);
  return counted.some(({ n }) => n < FEW) ? counted : count(RARE);
}

/** The number of tokens in the containers of these terms, each counted separately up to {@link LARGE}. */
async function countTogether(tx: Transaction, terms: readonly Buffer[]): Promise<number> {
  let n = 0;
  for (const term of terms) {
    n += await countUpTo(tx, LARGE, { kind: "term", term });
    if (n >= LARGE) return LARGE;
  }
  return n;
}

function countUpTo(tx: Transaction, most: number, filter: KeyFilter): Promise<number> {
  return tx.query(countTokenKeys, { selection: { ...walk(filter), without: NONE_EXPIRED }, most });
}
