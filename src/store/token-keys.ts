import type { PendingQuery, Row } from "postgres";
import type { TenantId } from "../base/ids.js";
import type { Sql } from "./connect.js";
import { defineStatement } from "./statement.js";

/** The place of a token in every list: by age, then by id. */
export interface TokenKey {
  readonly created_at: Date;
  readonly id: string;
}

/** Where the keys of a list come from, in order of age. Each is one index, walked from either end. */
export type KeySource =
  | { readonly kind: "all" }
  | { readonly kind: "type"; readonly type: string }
  | { readonly kind: "fingerprint"; readonly fingerprint: Buffer }
  | { readonly kind: "term"; readonly term: Buffer }
  /** Tokens with any of the terms. */
  | { readonly kind: "terms"; readonly terms: readonly Buffer[] };

/** One way for a token to be visible: all of it must hold. */
export interface ScopeAlternative {
  /** It lies in or below this container. */
  readonly containerTerm?: Buffer;
  /** It lies in exactly this container. */
  readonly container?: string;
  readonly containerPrefix?: string;
  readonly id?: string;
  readonly idPrefix?: string;
}

/** Which tokens a list is about. */
export interface TokenSelection {
  readonly source: KeySource;
  /** Each of these terms must be there too. */
  readonly alsoTerms: readonly Buffer[];
  /**
   * The source has few keys, and each is looked up among the terms. Otherwise both are walked side by side, which among
   * a million took 0.2 s where twenty look-ups take 0.2 ms, and is the faster from some ten thousand keys on.
   */
  readonly isNarrow: boolean;
  /** Each of these must hold, by one of its alternatives. */
  readonly scopes: readonly (readonly ScopeAlternative[])[];
  readonly without: Expired;
}

/** Tokens that have expired and are not swept yet: by name while they are few, else whatever has expired at a time. */
export type Expired =
  | { readonly kind: "few"; readonly ids: readonly string[] }
  | { readonly kind: "many"; readonly at: Date };

export const NONE_EXPIRED: Expired = { kind: "few", ids: [] };

export interface KeyPage {
  readonly selection: TokenSelection;
  /** Newest first, unless the page is nearer to the old end. */
  readonly order: "newest_first" | "oldest_first";
  /** Only keys beyond this one, in the order of the walk. */
  readonly after: TokenKey | undefined;
  readonly offset: number;
  readonly limit: number;
}

/** Keys only: the rows are joined to the few that are shown, four to five times cheaper than walking rows. */
export const listTokenKeys = defineStatement<KeyPage, readonly TokenKey[], TokenKey>({
  table: "tokens",
  kind: "read",
  sortKey: () => "",
  queries: (sql, tenantId, pages) =>
    pages.map(({ selection, order, after, offset, limit }) => {
      const direction = order === "newest_first" ? sql`desc` : sql`asc`;
      return sql`
        select created_at, id from ${sourceOf(sql, tenantId, selection, order, after, offset + limit)}
        where ${conditionsOf(sql, tenantId, selection, beyond(sql, "x", order, after))}
          ${beyond(sql, "k", order, after)}
        order by created_at ${direction}, id ${direction}
        limit ${limit} offset ${offset}`;
    }),
  answers: (rows) => rows,
});

/** How many keys a selection has, counted to no more than `most`. */
export const countTokenKeys = defineStatement<
  { readonly selection: TokenSelection; readonly most: number },
  number,
  { n: number }
>({
  table: "tokens",
  kind: "read",
  sortKey: () => "",
  queries: (sql, tenantId, inputs) =>
    inputs.map(
      ({ selection, most }) => sql`
        select count(*) as n from (
          select 1 from ${sourceOf(sql, tenantId, selection, "newest_first", undefined, most)}
          where ${conditionsOf(sql, tenantId, selection, sql``)}
          limit ${most}
        ) counted`,
    ),
  answers: (rows) => rows.map(([row]) => row?.n ?? 0),
});

/** How many tokens of all types there are, by the counters, without those that have expired and are not swept yet. */
export const sumTokenCounts = defineStatement<TenantId, number, { n: number }>({
  table: "token_counts",
  kind: "read",
  sortKey: () => "",
  queries: (sql, tenantId, _inputs, at) => [
    sql`
      select coalesce(sum(n), 0)::bigint
        - (select count(*) from tokens where tenant_id = ${tenantId} and expires_at <= ${at}) as n
      from token_counts where tenant_id = ${tenantId}`,
  ],
  answers: ([rows = []], inputs) => inputs.map(() => rows[0]?.n ?? 0),
});

/** Each key is compared with all of their ids: 100,000 keys with 100 ids take 0.1 s, as do as many look-ups. */
const FEW_EXPIRED = 100;

/** There are few: a sweep comes every quarter of a minute. Many, when a batch of tokens ends at the same time. */
export const findExpired = defineStatement<TenantId, Expired, ExpiredRow>({
  table: "tokens",
  kind: "read",
  sortKey: () => "",
  queries: (sql, tenantId, _inputs, at) => [
    sql`
      select id, ${at}::timestamptz as at from tokens
      where tenant_id = ${tenantId} and expires_at <= ${at} order by expires_at limit ${FEW_EXPIRED + 1}`,
  ],
  answers: ([rows = []], inputs) => inputs.map(() => expiredOf(rows)),
});

interface ExpiredRow {
  readonly id: string;
  readonly at: Date;
}

function expiredOf(rows: readonly ExpiredRow[]): Expired {
  const [first] = rows;
  return first && rows.length > FEW_EXPIRED
    ? { kind: "many", at: first.at }
    : { kind: "few", ids: rows.map(({ id }) => id) };
}

type Fragment = PendingQuery<Row[]>;

function sourceOf(
  sql: Sql,
  tenantId: TenantId,
  { source, without }: TokenSelection,
  order: KeyPage["order"],
  after: TokenKey | undefined,
  enough: number,
): Fragment {
  switch (source.kind) {
    case "all":
      return sql`(select created_at, id from tokens where tenant_id = ${tenantId}) k`;
    case "type":
      return sql`(select created_at, id from tokens where tenant_id = ${tenantId} and type = ${source.type}) k`;
    case "fingerprint":
      return sql`(select created_at, id from tokens where tenant_id = ${tenantId} and fingerprint = ${source.fingerprint}) k`;
    case "term":
      return sql`
        (select created_at, token_id as id from token_terms where tenant_id = ${tenantId} and term = ${source.term}) k`;
    case "terms": {
      // A merge of one walk for each term: each gives no more than could be needed, and nothing that would be left out.
      const direction = order === "newest_first" ? sql`desc` : sql`asc`;
      const walks = source.terms.map(
        (term) => sql`
          (select created_at, id from (
            select created_at, token_id as id from token_terms where tenant_id = ${tenantId} and term = ${term}
          ) k where true ${beyond(sql, "k", order, after)} ${isNoneOf(sql, tenantId, without)}
          order by created_at ${direction}, id ${direction} limit ${enough})`,
      );
      return sql`(${walks.reduce((all, walk) => sql`${all} union ${walk}`)}) k`;
    }
  }
}

/** Keys of `k`, or of the terms `x` that are compared with it, that lie behind one. */
function beyond(sql: Sql, table: "k" | "x", order: KeyPage["order"], after: TokenKey | undefined): Fragment {
  if (!after) return sql``;
  const key = table === "k" ? sql`(k.created_at, k.id)` : sql`(x.created_at, x.token_id)`;
  return order === "newest_first"
    ? sql`and ${key} < (${after.created_at}, ${after.id})`
    : sql`and ${key} > (${after.created_at}, ${after.id})`;
}

/** @param within bounds the terms, where the keys are bounded: a walk beside them would begin at the newest. */
function conditionsOf(
  sql: Sql,
  tenantId: TenantId,
  { alsoTerms, isNarrow, scopes, without }: TokenSelection,
  within: Fragment,
): Fragment {
  const terms = alsoTerms.map((term) => {
    const row = termRow(sql, tenantId, term, within);
    // Nothing is joined to a subquery with a limit: it is run for each key.
    return isNarrow ? sql`and (${row} limit 1)` : sql`and exists (${row})`;
  });
  const visible = scopes.map((alternatives) => {
    const any = alternatives.map((alternative) => sql`or ${holds(sql, tenantId, alternative)}`);
    return sql`and (false ${joined(sql, any)})`;
  });
  return sql`
    true
    ${joined(sql, terms)}
    ${joined(sql, visible)}
    ${isNoneOf(sql, tenantId, without)}`;
}

function isNoneOf(sql: Sql, tenantId: TenantId, expired: Expired): Fragment {
  if (expired.kind === "many") {
    // With a limit of its own it is no join, for which the order of the walk would be given up.
    return sql`and (
      select e.expires_at <= ${expired.at} from tokens e where e.tenant_id = ${tenantId} and e.id = k.id limit 1
    ) is not true`;
  }
  return expired.ids.length > 0 ? sql`and k.id <> all(${[...expired.ids]}::text[])` : sql``;
}

/** Fragments one after another. The client takes an empty list for a parameter. */
function joined(sql: Sql, fragments: readonly Fragment[]): Fragment {
  return fragments.reduce((all, fragment) => sql`${all} ${fragment}`, sql``);
}

function termRow(sql: Sql, tenantId: TenantId, term: Buffer, within: Fragment): Fragment {
  return sql`
    select true from token_terms x
    where x.tenant_id = ${tenantId} and x.term = ${term} and x.created_at = k.created_at and x.token_id = k.id ${within}`;
}

function holds(sql: Sql, tenantId: TenantId, alternative: ScopeAlternative): Fragment {
  const { containerTerm, container, containerPrefix, id, idPrefix } = alternative;
  const row = (condition: Fragment) => sql`exists (
    select 1 from tokens t where t.tenant_id = ${tenantId} and t.id = k.id and ${condition})`;
  return sql`(
    true
    ${containerTerm ? sql`and exists (${termRow(sql, tenantId, containerTerm, sql``)})` : sql``}
    ${container === undefined ? sql`` : sql`and ${row(sql`${container} = any(t.containers)`)}`}
    ${
      containerPrefix === undefined
        ? sql``
        : sql`and ${row(sql`exists (select 1 from unnest(t.containers) c where starts_with(c, ${containerPrefix}))`)}`
    }
    ${id === undefined ? sql`` : sql`and k.id = ${id}`}
    ${idPrefix === undefined ? sql`` : sql`and starts_with(k.id, ${idPrefix})`})`;
}
