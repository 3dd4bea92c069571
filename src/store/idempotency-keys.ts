import type { Uuid } from "../base/ids.js";
import { isNotOver } from "./not-over.js";
import { defineRemoval } from "./removal.js";
import { defineStatement, defineWrite, inSizes } from "./statement.js";

/** The stored answer of the first request that was sent with a key. */
export interface IdempotencyRow {
  readonly key_hash: Buffer;
  readonly request_hash: Buffer;
  readonly accepted: boolean;
  readonly response: Buffer;
  readonly expires_at: Date;
  /** A keyed hash of the application key or session that made the request. Null in rows of earlier releases. */
  readonly maker: Buffer | null;
}

/** A stored key. Operations with outside effects store theirs before they act, and the answer when that has ended. */
export type StoredKey = Omit<IdempotencyRow, "response"> & {
  readonly response: Buffer | null;
  /** What the operation made or changes. */
  readonly subject: Uuid | null;
  /** Whoever was first is still at work on it. */
  readonly leased: boolean;
};

export const findIdempotencyKey = defineStatement<Buffer, StoredKey | null, StoredKey>({
  table: "idempotency_keys",
  kind: "read",
  sortKey: (hash) => hash.toString("hex"),
  queries: (sql, tenantId, hashes, at) =>
    hashes.map(
      (hash) => sql`
        select key_hash, request_hash, accepted, response, expires_at, subject, maker,
          coalesce(lease_until > now(), false) as leased from idempotency_keys
        where tenant_id = ${tenantId} and key_hash = ${hash} and ${isNotOver(sql, "expires_at", at)}`,
    ),
  answers: (rows) => rows.map(([row]) => row ?? null),
});

/** Makes room for a new answer under a key whose day is over and that no sweep has removed yet. */
export const dropExpiredIdempotencyKey = defineWrite<Buffer>({
  table: "idempotency_keys",
  sortKey: (hash) => hash.toString("hex"),
  queries: (sql, tenantId, hashes, at) =>
    hashes.map(
      (hash) => sql`
        delete from idempotency_keys where tenant_id = ${tenantId} and key_hash = ${hash}
          and not ${isNotOver(sql, "expires_at", at)}`,
    ),
});

/** Fails with a unique violation when another request with the key was first. */
export const insertIdempotencyKey = defineWrite<IdempotencyRow>({
  table: "idempotency_keys",
  sortKey: ({ key_hash }) => key_hash.toString("hex"),
  queries(sql, tenantId, drafts) {
    return inSizes(drafts, (piece) => {
      const rows = piece.map((draft) => ({ tenant_id: tenantId, ...draft }));
      return sql`insert into idempotency_keys ${sql(rows)}`;
    });
  },
});

export type KeyInFlight = Omit<IdempotencyRow, "response"> & { readonly subject: Uuid };

/** Longer than an operation with outside effects may take. */
const LEASE_SECONDS = 60;

/** Fails with a unique violation when another request with the key was first. */
export const insertKeyInFlight = defineWrite<KeyInFlight>({
  table: "idempotency_keys",
  sortKey: ({ key_hash }) => key_hash.toString("hex"),
  queries: (sql, tenantId, drafts) =>
    drafts.map(
      ({ key_hash, request_hash, accepted, expires_at, subject, maker }) => sql`
        insert into idempotency_keys (tenant_id, key_hash, request_hash, accepted, expires_at, subject, maker, lease_until)
        values (${tenantId}, ${key_hash}, ${request_hash}, ${accepted}, ${expires_at}, ${subject}, ${maker},
          now() + ${LEASE_SECONDS} * interval '1 second')`,
    ),
});

/** Stores the answer of an operation that has ended. */
export const completeKey = defineWrite<Pick<IdempotencyRow, "key_hash" | "response">>({
  table: "idempotency_keys",
  sortKey: ({ key_hash }) => key_hash.toString("hex"),
  queries: (sql, tenantId, drafts) =>
    drafts.map(
      ({ key_hash, response }) => sql`
        update idempotency_keys set response = ${response}, lease_until = null
        where tenant_id = ${tenantId} and key_hash = ${key_hash} and response is null`,
    ),
});

/** Deletes answers whose day is over. */
export const deleteDueIdempotencyKeys = defineRemoval("idempotency_keys", "expires_at");
