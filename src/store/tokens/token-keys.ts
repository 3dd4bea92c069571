import type { TenantId } from "../../base/ids.js";
import { ANY_TIME, type TimeSpan } from "../../base/time-span.js";
import { defineCount, defineRows } from "../statements/row-statements.js";
import type { SqlTag, SqlText } from "../statements/sql-text.js";
import type { Expired, KeyFilter, Requirement, ScopeAlternative, TokenKey, TokenSelection } from "./token-selection.js";

export interface KeyPage {
  readonly selection: TokenSelection;
  /** Newest first, unless the page is closer to the old end. */
  readonly order: "newest_first" | "oldest_first";
  /** Only keys after this one. */
  readonly after: TokenKey | undefined;
  /** Only this key, and those before it. */
  readonly through?: TokenKey | undefined;
  readonly offset: number;
  readonly limit: number;
}

/**
 * Reads only keys, and joins rows to the few that are shown, which is four to five times cheaper than reading all rows.
 */
export const listTokenKeys = defineRows<KeyPage, TokenKey>("tokens", (sql, tenantId, page) => {
  const { selection, order, after, through, offset, limit } = page;
  const walk = { order, after, through, enough: offset + limit, isPage: true };
  const direction = order === "newest_first" ? sql`desc` : sql`asc`;
  return sql`
    select created_at, id from ${keySource(sql, tenantId, selection, walk)}
    where ${keyConditions(sql, tenantId, selection, walk)}
      ${within(sql, KEY, walk)}
    order by created_at ${direction}, id ${direction}
    limit ${limit} offset ${offset}`;
});

/** A count up to a limit, of all keys or of a part of a walk. */
export interface KeyCount extends Pick<KeyPage, "selection">, Partial<Pick<KeyPage, "order" | "after" | "through">> {
  readonly most: number;
}

export const countTokenKeys = defineCount<KeyCount>("tokens", (sql, tenantId, count) => {
  const { selection, order = "newest_first", after, through, most } = count;
  const walk = { order, after, through, enough: most, isPage: false };
  return sql`
    select count(*) as n from (
      select 1 from ${keySource(sql, tenantId, selection, walk)}
      where ${keyConditions(sql, tenantId, selection, walk)}
        ${within(sql, KEY, walk)}
      limit ${most}
    ) counted`;
});

/** The number of tokens of all types by the counters, without those that have expired and are not swept yet. */
export const sumTokenCounts = defineCount<TenantId>(
  "token_counts",
  (sql, tenantId, _, at) => sql`
    select coalesce(sum(n), 0)::bigint
      - (select count(*) from tokens where tenant_id = ${tenantId} and expires_at <= ${at}) as n
    from token_counts where tenant_id = ${tenantId}`,
);

export type Fragment = SqlText;

interface KeyWalk extends Pick<KeyPage, "order" | "after" | "through"> {
  readonly enough: number;
  /** Whether keys are read until a page is full, rather than all of them. */
  readonly isPage: boolean;
}

function keySource(
  sql: SqlTag,
  tenantId: TenantId,
  { source, also, scopes, without, span }: TokenSelection,
  keyWalk: KeyWalk,
): Fragment {
  const { order, enough } = keyWalk;
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
    case "ids":
      return sql`(
        select named.created_at, named.id from unnest(${[...source.ids]}::text[]) wanted (id)
        cross join lateral (
          select created_at, id from tokens where tenant_id = ${tenantId} and tokens.id = wanted.id limit 1
        ) named) k`;
    case "types": {
      // Types share no token, so the database merges the ordered scans as they are read, without a limit in each.
      const direction = order === "newest_first" ? sql`desc` : sql`asc`;
      const walks = source.types.map(
        (type) => sql`
          (select created_at, id from tokens where tenant_id = ${tenantId} and type = ${type}
          order by created_at ${direction}, id ${direction})`,
      );
      return sql`(${walks.reduce((all, walk) => sql`${all} union all ${walk}`)}) k`;
    }
    case "terms": {
      // Merges one index scan per term. Each scan returns no more keys than needed, and omits none that counts.
      const cut = also.length === 0 && scopes.length === 0 ? sql`limit ${enough}` : sql``;
      const direction = order === "newest_first" ? sql`desc` : sql`asc`;
      const walks = source.terms.map(
        (term) => sql`
          (select created_at, id from (
            select created_at, token_id as id from token_terms where tenant_id = ${tenantId} and term = ${term}
          ) k where true ${within(sql, KEY, keyWalk)} ${inSpan(sql, span)} ${isNoneOf(sql, tenantId, without)}
          order by created_at ${direction}, id ${direction} ${cut})`,
      );
      return sql`(${walks.reduce((all, walk) => sql`${all} union ${walk}`)}) k`;
    }
  }
}

/** Where the position of a token is in the index walk (`k`), in its row (`t`), and in one of its terms (`x`). */
const KEY = "k.created_at, k.id";
const ROW_KEY = "t.created_at, t.id";
const TERM_KEY = "x.created_at, x.token_id";
type KeyColumns = typeof KEY | typeof ROW_KEY | typeof TERM_KEY;

/** The condition that a position is part of a walk. */
function within(sql: SqlTag, key: KeyColumns, { order, after, through }: Omit<KeyWalk, "enough" | "isPage">): Fragment {
  const columns = sql.unsafe(key);
  const [isPast, isBefore] = order === "newest_first" ? [sql`<`, sql`>=`] : [sql`>`, sql`<=`];
  const begins = after ? sql`and (${columns}) ${isPast} (${after.created_at}, ${after.id})` : sql``;
  return through ? sql`${begins} and (${columns}) ${isBefore} (${through.created_at}, ${through.id})` : begins;
}

/**
 * The condition that a key falls in a time span. Index scans of keys begin and end there, because their indexes are
 * sorted by time.
 */
function inSpan(sql: SqlTag, { from, before }: TimeSpan = ANY_TIME): Fragment {
  const since = from ? sql`and k.created_at >= ${from}` : sql``;
  return before ? sql`${since} and k.created_at < ${before}` : since;
}

function keyConditions(
  sql: SqlTag,
  tenantId: TenantId,
  { also, isNarrow, scopes, hasLargeScopes, without, span }: TokenSelection,
  walk: KeyWalk,
): Fragment {
  // Bounds what the keys are compared with. Otherwise an index scan beside them would begin at the newest key.
  const bounds = (key: KeyColumns) => within(sql, key, walk);
  const filters = also.map((filter) => {
    const row = matchingRow(sql, tenantId, filter, bounds);
    return sql`and ${isNarrow ? lookedUp(sql, row) : sql`exists (${row})`}`;
  });
  const isShort = isNarrow || (walk.isPage && hasLargeScopes);
  return sql`
    true
    ${inSpan(sql, span)}
    ${joined(sql, filters)}
    ${holdsScopes(sql, tenantId, scopes, { isShort, bounds })}
    ${isNoneOf(sql, tenantId, without)}`;
}

type Bounds = (key: KeyColumns) => Fragment;

/** How keys are compared with containers. */
interface Comparison {
  /** There are few keys, each of which is looked up. */
  readonly isShort: boolean;
  /** Bounds what is read of the containers beside many keys. */
  readonly bounds: Bounds;
}

/** The condition that the token of a key `k` is in each of the scopes. */
export function holdsScopes(
  sql: SqlTag,
  tenantId: TenantId,
  scopes: TokenSelection["scopes"],
  comparison: Comparison = { isShort: true, bounds: () => sql`` },
): Fragment {
  const visible = scopes.map((alternatives) => {
    const any = alternatives.map((alternative) => sql`or ${holds(sql, tenantId, alternative, comparison)}`);
    return sql`and (false ${joined(sql, any)})`;
  });
  return joined(sql, visible);
}

/** PostgreSQL does not join a subquery with a limit or read it as a whole, but runs it for each key. */
function lookedUp(sql: SqlTag, row: Fragment): Fragment {
  return sql`(${row} limit 1)`;
}

function isNoneOf(sql: SqlTag, tenantId: TenantId, expired: Expired): Fragment {
  if (expired.kind === "many") {
    // With its own limit it is not a join, which would give up the order of the walk.
    return sql`and (
      select e.expires_at <= ${expired.at} from tokens e where e.tenant_id = ${tenantId} and e.id = k.id limit 1
    ) is not true`;
  }
  return expired.ids.length > 0 ? sql`and k.id <> all(${[...expired.ids]}::text[])` : sql``;
}

/** Concatenates fragments. The client would take an empty list for a parameter. */
function joined(sql: SqlTag, fragments: readonly Fragment[]): Fragment {
  return fragments.reduce((all, fragment) => sql`${all} ${fragment}`, sql``);
}

/** The row that proves that a key matches a filter. */
function matchingRow(sql: SqlTag, tenantId: TenantId, filter: KeyFilter, bounds: Bounds): Fragment {
  if (filter.kind === "term") {
    return sql`
      select true from token_terms x where x.tenant_id = ${tenantId} and x.term = ${filter.term}
        and x.created_at = k.created_at and x.token_id = k.id ${bounds(TERM_KEY)}`;
  }
  return sql`
    select true from tokens t where t.tenant_id = ${tenantId} and ${rowCondition(sql, filter)}
      and t.created_at = k.created_at and t.id = k.id ${bounds(ROW_KEY)}`;
}

function rowCondition(sql: SqlTag, filter: Exclude<KeyFilter, { readonly kind: "term" }>): Fragment {
  switch (filter.kind) {
    case "type":
      return sql`t.type = ${filter.type}`;
    case "types":
      return sql`t.type = any(${[...filter.types]}::text[])`;
    case "fingerprint":
      return sql`t.fingerprint = ${filter.fingerprint}`;
  }
}

function holds(sql: SqlTag, tenantId: TenantId, alternative: ScopeAlternative, comparison: Comparison): Fragment {
  const requirements = alternative.map((requirement) => sql`and ${isMet(sql, tenantId, requirement, comparison)}`);
  return sql`(true ${joined(sql, requirements)})`;
}

function isMet(sql: SqlTag, tenantId: TenantId, requirement: Requirement, { isShort, bounds }: Comparison): Fragment {
  switch (requirement.kind) {
    case "below": {
      const row = matchingRow(sql, tenantId, { kind: "term", term: requirement.term }, bounds);
      return isShort ? sql`coalesce(${lookedUp(sql, row)}, false)` : sql`exists (${row})`;
    }
    case "container":
      return inRow(sql, tenantId, sql`${requirement.text} = any(t.containers)`);
    case "container_prefix":
      return inRow(
        sql,
        tenantId,
        sql`exists (select from unnest(t.containers) c where starts_with(c, ${requirement.text}))`,
      );
    case "id":
      return sql`k.id = ${requirement.text}`;
    case "id_prefix":
      return sql`starts_with(k.id, ${requirement.text})`;
  }
}

function inRow(sql: SqlTag, tenantId: TenantId, condition: Fragment): Fragment {
  return lookedUp(sql, sql`select ${condition} from tokens t where t.tenant_id = ${tenantId} and t.id = k.id`);
}
