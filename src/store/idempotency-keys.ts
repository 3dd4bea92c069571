import type { Uuid } from "../base/ids.js";
import { boundQuery, boundWrite } from "./bound-statement.js";
import { boolean, bytes, time } from "./parameter.js";
import { defineRemoval } from "./removal.js";
import { defineWrite } from "./statement.js";

/** The stored answer of the first request that was sent with a key. */
export interface IdempotencyRow {
  readonly key_hash: Buffer;
  readonly request_hash: Buffer;
  readonly accepted: boolean;
  readonly response: Buffer;
  readonly expires_at: Date;
}

/** A stored key. Operations with outside effects store theirs before they act, and the answer when that has ended. */
export type StoredKey = Omit<IdempotencyRow, "response"> & {
  readonly response: Buffer | null;
  /** What the operation made or changes. */
  readonly subject: Uuid | null;
  /** Whoever was first is still at work on it. */
  readonly leased: boolean;
};

/** No index is to serve this comparison: see not-over.ts. */
const IS_NOT_OVER = "((expires_at > :now) is true)";

export const findIdempotencyKey = boundQuery<Buffer, StoredKey | null, StoredKey>({
  table: "idempotency_keys",
  kind: "read",
  sql: `
    select key_hash, request_hash, accepted, response, expires_at, subject,
      coalesce(lease_until > now(), false) as leased from idempotency_keys
    where tenant_id = :tenant and key_hash = :key_hash and ${IS_NOT_OVER}`,
  parameters: { key_hash: bytes((hash) => hash) },
  sortKey: (hash) => hash.toString("hex"),
  row: (column) => ({
    key_hash: column.bytes(),
    request_hash: column.bytes(),
    accepted: column.boolean(),
    response: column.bytesOrNull(),
    expires_at: column.time(),
    subject: column.uuidOrNull(),
    leased: column.boolean(),
  }),
  answers: (rows) => rows.map(([row]) => row ?? null),
});

/** Makes room for a new answer under a key whose day is over and that no sweep has removed yet. */
export const dropExpiredIdempotencyKey = boundWrite<Buffer>({
  table: "idempotency_keys",
  sql: `delete from idempotency_keys where tenant_id = :tenant and key_hash = :key_hash and not ${IS_NOT_OVER}`,
  parameters: { key_hash: bytes((hash) => hash) },
  sortKey: (hash) => hash.toString("hex"),
});

/** Fails with a unique violation when another request with the key was first. */
export const insertIdempotencyKey = boundWrite<IdempotencyRow>({
  table: "idempotency_keys",
  sql: `
    insert into idempotency_keys (tenant_id, key_hash, request_hash, accepted, response, expires_at)
    values {(:tenant, :key_hash, :request_hash, :accepted, :response, :expires_at)}`,
  parameters: {
    key_hash: bytes(({ key_hash }) => key_hash),
    request_hash: bytes(({ request_hash }) => request_hash),
    accepted: boolean(({ accepted }) => accepted),
    response: bytes(({ response }) => response),
    expires_at: time(({ expires_at }) => expires_at),
  },
  sortKey: ({ key_hash }) => key_hash.toString("hex"),
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
      ({ key_hash, request_hash, accepted, expires_at, subject }) => sql`
        insert into idempotency_keys (tenant_id, key_hash, request_hash, accepted, expires_at, subject, lease_until)
        values (${tenantId}, ${key_hash}, ${request_hash}, ${accepted}, ${expires_at}, ${subject},
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
