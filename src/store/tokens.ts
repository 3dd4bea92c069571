import type { TenantId, Uuid } from "../base/ids.js";
import { isNotOver } from "./not-over.js";
import type { SqlTag } from "./statement.js";
import { defineStatement, defineWrite, inSizes } from "./statement.js";

/** A token as it is stored: what its caller wrote is sealed. */
export interface TokenRow {
  readonly id: string;
  readonly type: string;
  readonly data: Buffer;
  readonly attributes: Buffer | null;
  readonly containers: string[];
  readonly fingerprint: Buffer | null;
  readonly dedupe_key: Buffer | null;
  readonly expires_at: Date | null;
  readonly expires_at_text: string | null;
  readonly revision: number;
  /** The first day of the month the token was last active in, YYYY-MM-DD. */
  readonly active_month: string;
  readonly created_by: Uuid;
  readonly created_at: Date;
  readonly modified_by: Uuid | null;
  readonly modified_at: Date | null;
}

/** A stored token with its card verification code, while that is there and not due. */
export interface TokenRowWithCvc extends TokenRow {
  readonly cvc: Buffer | null;
}

/** Inserts tokens whose ids we made: they cannot be taken. */
export const insertToken = defineWrite<TokenRow>({
  table: "tokens",
  sortKey: ({ id }) => id,
  queries: (sql, tenantId, tokens) =>
    inSizes(tokens, (piece) => {
      const rows = piece.map((token) => ({ tenant_id: tenantId, ...token }));
      return sql`insert into tokens ${sql(rows)}`;
    }),
});

/** Inserts a token unless its id or its dedupe key is taken. Answers whether it went in. */
export const insertTokenIfFree = defineStatement<TokenRow, boolean, TakenBy>({
  table: "tokens",
  kind: "write",
  sortKey: ({ dedupe_key, id }) => claimOf(id, dedupe_key),
  queries: (sql, tenantId, tokens) =>
    inSizes(tokens, (piece) => {
      const rows = piece.map((token) => ({ tenant_id: tenantId, ...token }));
      return sql`insert into tokens ${sql(rows)} on conflict do nothing returning id, dedupe_key as "dedupeKey"`;
    }),
  answers(rows, tokens) {
    // Tokens of one batch may want the same id: one of them went in at the most, and not the first where its content was
    // taken. Of two that want the same id and content it is the first.
    const free = new Set(rows.flat().map(({ id, dedupeKey }) => claimOf(id, dedupeKey)));
    return tokens.map(({ id, dedupe_key }) => free.delete(claimOf(id, dedupe_key)));
  },
});

function claimOf(id: string, dedupeKey: Buffer | null): string {
  return `${dedupeKey?.toString("hex") ?? ""} ${id}`;
}

const COLUMNS = [
  "id",
  "type",
  "data",
  "attributes",
  "containers",
  "fingerprint",
  "dedupe_key",
  "expires_at",
  "expires_at_text",
  "revision",
  "active_month::text as active_month",
  "created_by",
  "created_at",
  "modified_by",
  "modified_at",
]
  .map((column) => `t.${column}`)
  .join(", ");

/**
 * The code that a token has still, looked up for each token that is read: in a join, all codes of the tenant's last hour
 * were walked (10 ms for 38,000 of them).
 */
function liveCode(sql: SqlTag, tenantId: TenantId, at: Date) {
  return sql`(
    select c.code from token_cvc c
    where c.tenant_id = ${tenantId} and c.token_id = t.id and ${isNotOver(sql, "c.due_at", at)} limit 1
  ) as cvc`;
}

/**
 * A token by its id. Answers null for one that does not exist or has expired. Each id is looked up by itself: for `id = any`
 * the generic plan of a table without statistics (its first minute) walks all of a tenant in the index that ends in the id.
 */
export const readTokenRow = defineStatement<string, TokenRowWithCvc | null, TokenRowWithCvc>({
  table: "tokens",
  comesFirst: true,
  kind: "read",
  sortKey: (id) => id,
  queries: (sql, tenantId, ids, at) => [
    sql`
      select ${sql.unsafe(COLUMNS)}, ${liveCode(sql, tenantId, at)}
      from unnest(${[...ids]}::text[]) wanted (id)
      cross join lateral (
        select * from tokens where tenant_id = ${tenantId} and tokens.id = wanted.id limit 1
      ) t
      where t.expires_at is null or t.expires_at > ${at}`,
  ],
  answers([rows = []], ids) {
    const byId = new Map(rows.map((row) => [row.id, row]));
    return ids.map((id) => byId.get(id) ?? null);
  },
});

export interface TakenBy {
  readonly id: string;
  readonly dedupeKey: Buffer | null;
}

/** The tokens that hold an id or a dedupe key, expired ones included. */
export const findTakers = defineStatement<TakenBy, readonly TokenRowWithCvc[], TokenRowWithCvc>({
  table: "tokens",
  comesFirst: true,
  kind: "read",
  sortKey: ({ id }) => id,
  queries: (sql, tenantId, inputs, at) =>
    inputs.map(
      ({ id, dedupeKey }) => sql`
        select ${sql.unsafe(COLUMNS)}, ${liveCode(sql, tenantId, at)}
        from tokens t
        where t.tenant_id = ${tenantId} and (t.id = ${id} or t.dedupe_key = ${dedupeKey})`,
    ),
  answers: (rows) => rows,
});

export interface TokenVersion {
  readonly id: string;
  readonly revision: number;
}

/** Deletes a token that nobody changed since it was read. Answers whether that was so. */
export const deleteTokenRow = defineStatement<TokenVersion, boolean, unknown>({
  table: "tokens",
  kind: "write",
  sortKey: ({ id }) => id,
  queries: (sql, tenantId, versions) =>
    versions.map(
      ({ id, revision }) => sql`
        delete from tokens where tenant_id = ${tenantId} and id = ${id} and revision = ${revision} returning 1`,
    ),
  answers: (rows) => rows.map(({ length }) => length > 0),
});

/**
 * Notes the month of a token's activity. Answers whether it was the first in that month. One statement a token: see
 * {@link readTokenRow} for what `id = any` may come to.
 */
export const markActive = defineStatement<{ readonly id: string; readonly month: string }, boolean, unknown>({
  table: "tokens",
  kind: "write",
  sortKey: ({ id }) => id,
  queries: (sql, tenantId, inputs) =>
    inputs.map(
      ({ id, month }) => sql`
        update tokens set active_month = ${month}
        where tenant_id = ${tenantId} and id = ${id} and active_month < ${month} returning 1`,
    ),
  answers: (rows) => rows.map(({ length }) => length > 0),
});

/** What a change leaves a token as. */
export interface TokenChange {
  readonly id: string;
  /** The revision the change was made from. */
  readonly revision: number;
  readonly data: Buffer;
  readonly attributes: Buffer | null;
  readonly containers: readonly string[];
  readonly fingerprint: Buffer | null;
  readonly dedupe_key: Buffer | null;
  readonly expires_at: Date | null;
  readonly expires_at_text: string | null;
  readonly modified_by: Uuid;
}

/** Changes a token that nobody changed since it was read. Answers whether that was so. */
export const updateToken = defineStatement<TokenChange, boolean, unknown>({
  table: "tokens",
  kind: "write",
  sortKey: ({ id }) => id,
  queries: (sql, tenantId, changes, at) =>
    changes.map(
      (change) => sql`
        update tokens set data = ${change.data}, attributes = ${change.attributes},
          containers = ${[...change.containers]}::text[], fingerprint = ${change.fingerprint},
          dedupe_key = ${change.dedupe_key}, expires_at = ${change.expires_at},
          expires_at_text = ${change.expires_at_text}, modified_by = ${change.modified_by}, modified_at = ${at},
          revision = revision + 1
        where tenant_id = ${tenantId} and id = ${change.id} and revision = ${change.revision}
        returning 1`,
    ),
  answers: (rows) => rows.map(({ length }) => length > 0),
});

/** Tokens that have expired, the longest expired first. */
export const listExpiredRows = defineStatement<{ readonly limit: number }, readonly TokenRow[], TokenRow>({
  table: "tokens",
  kind: "read",
  sortKey: () => "",
  queries: (sql, tenantId, inputs, at) =>
    inputs.map(
      ({ limit }) => sql`
        select ${sql.unsafe(COLUMNS)} from tokens t
        where t.tenant_id = ${tenantId} and t.expires_at <= ${at} order by t.expires_at limit ${limit}`,
    ),
  answers: (rows) => rows,
});
