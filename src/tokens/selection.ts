import type { Caller } from "../access/caller.js";
import type { TokenPermission } from "../access/permissions.js";
import type { TenantKeys } from "../crypto/tenant-keys.js";
import {
  countTokenKeys,
  findExpired,
  type KeySource,
  NONE_EXPIRED,
  type ScopeAlternative,
  type TokenSelection,
} from "../store/token-keys.js";
import type { Transaction } from "../store/transaction.js";
import { visibleScopes } from "./scope.js";
import type { TokenFilter } from "./token-filter.js";

/** A list or search on behalf of a caller. */
export interface TokenQuery {
  readonly caller: Caller;
  readonly keys: TenantKeys;
  /** token:read for lists, token:search for searches: it decides what is visible and how it is shown. */
  readonly permission: Extract<TokenPermission, "token:read" | "token:search">;
  readonly filter: TokenFilter;
}

/** A term of up to so many tokens is rare: looking each of them up takes less than walking beside a common one. */
const RARE = 10_000;

/** What the caller's rules and the filter select together. */
export async function selectionOf(
  tx: Transaction,
  { caller, keys, permission, filter }: TokenQuery,
): Promise<TokenSelection> {
  const without = await tx.ask(findExpired, tx.tenantId);
  const visible = visibleScopes(caller.grant, permission, keys);
  // A scope of a single container is one more term to be found by; several of them are a union.
  const single = visible.flatMap((scope) => (scope.length === 1 ? (containersOf(scope) ?? []) : []));
  const scopes = visible.filter((scope) => scope.length !== 1 || !containersOf(scope));
  const { source } = filter;
  if (source.kind === "type" || source.kind === "fingerprint") {
    const isNarrow = source.kind === "fingerprint";
    return { source, alsoTerms: [...filter.alsoTerms, ...single], isNarrow, scopes, without };
  }
  const given = source.kind === "term" ? [source.term] : [];
  const terms = distinct([...given, ...filter.alsoTerms, ...single]);
  if (terms.length > 0) return { ...(await rarestFirst(tx, terms)), scopes, without };
  const [scope, ...further] = scopes;
  const union = scope && further.length === 0 ? containersOf(scope) : undefined;
  if (union && union.length > 0) return { ...walk({ kind: "terms", terms: union }), scopes: [], without };
  return { ...walk(source), scopes, without };
}

function walk(source: KeySource) {
  return { source, alsoTerms: [], isNarrow: false };
}

/** The containers that a scope consists of, or undefined where it asks for more than that. */
function containersOf(scope: readonly ScopeAlternative[]): readonly Buffer[] | undefined {
  const terms = scope.flatMap(({ containerTerm, ...more }) =>
    containerTerm && Object.keys(more).length === 0 ? [containerTerm] : [],
  );
  return terms.length === scope.length ? terms : undefined;
}

function distinct(terms: readonly Buffer[]): Buffer[] {
  return [...new Map(terms.map((term) => [term.toString("latin1"), term])).values()];
}

/** The term with the fewest tokens leads the walk. */
async function rarestFirst(
  tx: Transaction,
  terms: readonly Buffer[],
): Promise<Pick<TokenSelection, "source" | "alsoTerms" | "isNarrow">> {
  const [only] = terms;
  if (only && terms.length === 1) return walk({ kind: "term", term: only });
  const counted = await Promise.all(
    terms.map(async (term) => {
      const selection = { ...walk({ kind: "term", term }), scopes: [], without: NONE_EXPIRED };
      return { term, n: await tx.ask(countTokenKeys, { selection, most: RARE }) };
    }),
  );
  const [rarest, ...others] = counted.sort((a, b) => a.n - b.n);
  if (!rarest) throw new Error("there is no term to begin with");
  const source: KeySource = { kind: "term", term: rarest.term };
  return { source, alsoTerms: others.map(({ term }) => term), isNarrow: rarest.n < RARE };
}
