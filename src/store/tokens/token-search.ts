import type { TenantId, Uuid } from "../../base/ids.js";
import type { TimeSpan } from "../../base/time-span.js";
import { byteaArray } from "../statements/parameters.js";
import { defineForEach } from "../statements/row-statements.js";
import type { SqlTag } from "../statements/sql-text.js";
import { defineStatement } from "../statements/statement.js";
import { type Fragment, holdsScopes } from "./token-keys.js";
import type { KeyFilter, ScopeAlternative, TokenKey } from "./token-selection.js";

type IndexedTest = Exclude<KeyFilter, { readonly kind: "types" }>;

export type TokenTest =
  | IndexedTest
  | { readonly kind: "id"; readonly id: string }
  /** Exactly this container. `below` finds the tokens in it and below it; the root has no such term. */
  | { readonly kind: "container"; readonly container: string; readonly below: Buffer | undefined }
  | { readonly kind: "created_by" | "modified_by"; readonly actor: Uuid }
  | { readonly kind: "created_at" | "modified_at"; readonly span: TimeSpan };

export interface TokenSource {
  readonly of: IndexedTest | { readonly kind: "id"; readonly id: string } | { readonly kind: "all" };
  readonly span: TimeSpan;
}

/** A condition on a token: the tests to run, and those of them that must be true. Bit n is for test n. */
export interface Alternative {
  readonly asked: bigint;
  readonly holding: bigint;
}

export interface TokenSearch {
  /** Together the sources must cover every token that can match. Each yields at most `maxTokens`. */
  readonly sources: readonly TokenSource[];
  readonly maxTokens: number;
  /** At most 62, to fit the bits of a database bigint. */
  readonly tests: readonly TokenTest[];
  readonly alternatives: readonly Alternative[];
  /** What the caller may see: each must hold, by at least one of its alternatives. */
  readonly scopes: readonly (readonly ScopeAlternative[])[];
  readonly offset: number;
  readonly limit: number;
}

export interface FoundKeys {
  readonly total: number;
  readonly keys: readonly TokenKey[];
}

/**
 * The index scans for sources, in a query that has the sources as rows `s`. Sources and tests are values, which gives
 * all searches the same text: the database prepares each text once per connection, and keeps it.
 */
function walks(sql: SqlTag, tenantId: TenantId): readonly (readonly [TokenSource["of"]["kind"], Fragment])[] {
  const inSpan = sql`x.created_at >= s.since and x.created_at < s.until`;
  const inTokens = (condition: Fragment) =>
    sql`select x.created_at, x.id from tokens x where x.tenant_id = ${tenantId} and ${condition} and ${inSpan}`;
  return [
    [
      "term",
      sql`
        select x.created_at, x.token_id as id from token_terms x
        where x.tenant_id = ${tenantId} and x.term = s.bytes and ${inSpan}`,
    ],
    ["type", inTokens(sql`x.type = s.text`)],
    ["fingerprint", inTokens(sql`x.fingerprint = s.bytes`)],
    ["id", inTokens(sql`x.id = s.text`)],
    ["all", inTokens(sql`true`)],
  ];
}

function union(sql: SqlTag, parts: readonly Fragment[]): Fragment {
  return parts.reduce((all, part) => sql`${all} union all ${part}`);
}

export const countTokensBySource = defineStatement<
  { readonly sources: readonly TokenSource[]; readonly maxTokens: number },
  readonly number[],
  { readonly place: number; readonly n: number }
>({
  table: "tokens",
  kind: "read",
  queries: (sql, tenantId, inputs) =>
    inputs.map(({ sources, maxTokens }) => {
      const counts = walks(sql, tenantId).map(
        ([kind, walk]) => sql`
          select s.place, (select count(*) from (${walk} limit ${maxTokens}) walked) as n from s where s.kind = ${kind}`,
      );
      return sql`with s as (${given(sql, sourceRows(sources))}) ${union(sql, counts)}`;
    }),
  outputs: (results, inputs) =>
    inputs.map(({ sources }, index) => {
      const counts = new Map((results[index] ?? []).map(({ place, n }) => [place, n]));
      return sources.map((_, place) => counts.get(place + 1) ?? 0);
    }),
});

/** Whether a test, a row `w`, is true for a token, given its key `k` and its row `t`. */
function holds(sql: SqlTag, tenantId: TenantId): Fragment {
  return sql`
    case w.kind
      when 'term' then coalesce((
        select true from token_terms x where x.tenant_id = ${tenantId} and x.term = w.bytes
          and x.created_at = k.created_at and x.token_id = k.id limit 1
      ), false)
      when 'type' then t.type = w.text
      when 'fingerprint' then t.fingerprint = w.bytes
      when 'id' then k.id = w.text
      when 'container' then w.text = any(t.containers)
      when 'created_by' then t.created_by::text = w.text
      when 'modified_by' then t.modified_by::text = w.text
      when 'created_at' then k.created_at >= w.since and k.created_at < w.until
      when 'modified_at' then t.modified_at >= w.since and t.modified_at < w.until
    end`;
}

/**
 * The tokens that match a search, newest first, and their number. Reads each token of the sources once and runs all
 * tests on it. The caller must ensure that they are not too many.
 */
export const searchTokenKeys = defineForEach<TokenSearch, FoundKeys, FoundRow>(
  "read",
  "tokens",
  (sql, tenantId, { sources, maxTokens, tests, alternatives, scopes, offset, limit }, at) => {
    // Without its limit it would be a join, which reads all of a tenant's terms.
    const candidates = walks(sql, tenantId).map(
      ([kind, walk]) => sql`select c.* from s cross join lateral (${walk} limit ${maxTokens}) c where s.kind = ${kind}`,
    );
    return sql`
      with s as (${given(sql, sourceRows(sources))}),
      w as materialized (${given(sql, testRows(tests))}),
      a as materialized (
        select * from unnest(
          ${alternatives.map(({ asked }) => String(asked))}::text[]::bigint[],
          ${alternatives.map(({ holding }) => String(holding))}::text[]::bigint[]
        ) as alternative (asked, holding)
      ),
      candidates as materialized (select distinct created_at, id from (${union(sql, candidates)}) each),
      found as materialized (
        select k.created_at, k.id
        from candidates k
        cross join lateral (
          select type, fingerprint, containers, created_by, modified_by, modified_at, expires_at
          from tokens r where r.tenant_id = ${tenantId} and r.id = k.id limit 1
        ) t
        cross join lateral (
          select coalesce(bit_or(1::bigint << (w.place - 1)::int), 0) as bits from w where ${holds(sql, tenantId)}
        ) holding
        where (t.expires_at is null or t.expires_at > ${at})
          and exists (select from a where holding.bits & a.asked = a.holding)
          ${holdsScopes(sql, tenantId, scopes)}
      )
      select page.created_at, page.id, (select count(*) from found) as total
      from (select 1) one
      left join (select * from found order by created_at desc, id desc limit ${limit} offset ${offset}) page on true
      order by page.created_at desc, page.id desc`;
  },
  (rows) => ({
    total: rows[0]?.total ?? 0,
    keys: rows.flatMap(({ created_at, id }) => (created_at && id ? [{ created_at, id }] : [])),
  }),
);

/** A key of the page with the total. If the page is empty, only the total. */
interface FoundRow {
  readonly created_at: Date | null;
  readonly id: string | null;
  readonly total: number;
}

/** A query that returns the given rows, numbered from 1. */
function given(sql: SqlTag, { kinds, texts, bytes, since, until }: RowArrays): Fragment {
  return sql`
    select * from unnest(
      ${kinds}::text[], ${texts}::text[], ${byteaArray(sql, bytes)}::bytea[], ${since}::text[]::timestamptz[], ${until}::text[]::timestamptz[]
    ) with ordinality as row (kind, text, bytes, since, until, place)`;
}

/** Rows as columns, for `unnest`. */
interface RowArrays {
  readonly kinds: string[];
  readonly texts: string[];
  readonly bytes: Buffer[];
  readonly since: string[];
  readonly until: string[];
}

interface GivenRow {
  readonly kind: string;
  readonly text?: string;
  readonly bytes?: Buffer;
  readonly span?: TimeSpan;
}

const NO_BYTES = Buffer.alloc(0);

function arraysOf(rows: readonly GivenRow[]): RowArrays {
  return {
    kinds: rows.map(({ kind }) => kind),
    texts: rows.map(({ text }) => text ?? ""),
    bytes: rows.map(({ bytes }) => bytes ?? NO_BYTES),
    since: rows.map(({ span }) => span?.from?.toISOString() ?? "-infinity"),
    until: rows.map(({ span }) => span?.before?.toISOString() ?? "infinity"),
  };
}

function sourceRows(sources: readonly TokenSource[]): RowArrays {
  return arraysOf(
    sources.map(({ of, span }) => ({ ...(of.kind === "all" ? { kind: of.kind } : tokenTestRow(of)), span })),
  );
}

function testRows(tests: readonly TokenTest[]): RowArrays {
  return arraysOf(tests.map(tokenTestRow));
}

function tokenTestRow(test: TokenTest): GivenRow {
  switch (test.kind) {
    case "term":
      return { kind: test.kind, bytes: test.term };
    case "fingerprint":
      return { kind: test.kind, bytes: test.fingerprint };
    case "type":
      return { kind: test.kind, text: test.type };
    case "id":
      return { kind: test.kind, text: test.id };
    case "container":
      return { kind: test.kind, text: test.container };
    case "created_by":
    case "modified_by":
      return { kind: test.kind, text: test.actor };
    case "created_at":
    case "modified_at":
      return { kind: test.kind, span: test.span };
  }
}
