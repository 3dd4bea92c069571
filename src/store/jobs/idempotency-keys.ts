import type { Uuid } from "../../base/ids.js";
import { boundQuery, boundWrite } from "../statements/bound-statement.js";
import { boolean, bytes, time, uuid } from "../statements/parameter.js";
import { defineRemoval } from "../statements/removal.js";
import { readRow } from "../statements/single-row.js";

export interface IdempotencyRow {
  readonly key_hash: Buffer;
  readonly request_hash: Buffer;
  readonly accepted: boolean;
  readonly response: Buffer;
  readonly expires_at: Date;
  /** A keyed hash of the application key or session that made the request. */
  readonly maker: Buffer;
}

/** A stored key. Operations with outside effects store theirs before they act, and the result once they have ended. */
export type StoredKey = Omit<IdempotencyRow, "response"> & {
  readonly response: Buffer | null;
  /** The entity that the operation makes or changes. */
  readonly subject: Uuid | null;
  /** Whether the first request is still at work on it. */
  readonly leased: boolean;
};

/**
 * By the server's clock and the database's: under a wrong clock a repeat would be carried out again. No index should
 * serve this comparison: see unexpired.ts.
 */
const IS_NOT_OVER = "((expires_at > least(:now, now())) is true)";

export const findIdempotencyKey = readRow<Buffer, StoredKey>({
  table: "idempotency_keys",
  sql: `
    select key_hash, request_hash, accepted, response, expires_at, subject, maker,
      coalesce(lease_until > now(), false) as leased from idempotency_keys
    where tenant_id = :tenant and key_hash = :key_hash and ${IS_NOT_OVER}`,
  parameters: { key_hash: bytes((hash) => hash) },
  row: (column) => ({
    key_hash: column.bytes(),
    request_hash: column.bytes(),
    accepted: column.boolean(),
    response: column.bytesOrNull(),
    expires_at: column.time(),
    subject: column.uuidOrNull(),
    maker: column.bytes(),
    leased: column.boolean(),
  }),
});

/** Whether a lock that is held or waited for keeps everybody from storing keys, such as that of a schema change. */
export const readKeysLocked = boundQuery<"all", boolean, boolean>({
  table: "idempotency_keys",
  kind: "read",
  sql: `
    select exists (
      select from pg_locks where locktype = 'relation' and relation = 'idempotency_keys'::regclass
        and database = (select oid from pg_database where datname = current_database())
        and mode in ('ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock')
    ) as locked`,
  row: (column) => column.boolean(),
  outputs: (rows) => rows.map(([locked]) => locked ?? false),
});

/** Deletes an expired, unswept result to make room for a new one under its key. */
export const deleteExpiredIdempotencyKey = boundWrite<Buffer>({
  table: "idempotency_keys",
  position: "first",
  isAtCommit: true,
  sql: `delete from idempotency_keys where tenant_id = :tenant and key_hash = :key_hash and not ${IS_NOT_OVER}`,
  parameters: { key_hash: bytes((hash) => hash) },
});

const NEW_KEY = {
  key_hash: bytes<Omit<IdempotencyRow, "response">>(({ key_hash }) => key_hash),
  request_hash: bytes<Omit<IdempotencyRow, "response">>(({ request_hash }) => request_hash),
  accepted: boolean<Omit<IdempotencyRow, "response">>(({ accepted }) => accepted),
  expires_at: time<Omit<IdempotencyRow, "response">>(({ expires_at }) => expires_at),
  maker: bytes<Omit<IdempotencyRow, "response">>(({ maker }) => maker),
};

/** Fails with a unique violation if another request stored the key first. */
export const insertIdempotencyKey = boundWrite<IdempotencyRow>({
  table: "idempotency_keys",
  isAtCommit: true,
  sql: `
    insert into idempotency_keys (tenant_id, key_hash, request_hash, accepted, response, expires_at, maker)
    values {(:tenant, :key_hash, :request_hash, :accepted, :response, :expires_at, :maker)}`,
  parameters: { ...NEW_KEY, response: bytes(({ response }) => response) },
  sortKey: ({ key_hash }) => key_hash.toString("hex"),
});

export type KeyInFlight = Omit<IdempotencyRow, "response"> & { readonly subject: Uuid };

/** Longer than an operation with outside effects may take. */
const LEASE_SECONDS = 60;

/** Fails with a unique violation if another request stored the key first. */
export const insertKeyInFlight = boundWrite<KeyInFlight>({
  table: "idempotency_keys",
  isAtCommit: true,
  sql: `
    insert into idempotency_keys (tenant_id, key_hash, request_hash, accepted, expires_at, subject, maker, lease_until)
    values {(:tenant, :key_hash, :request_hash, :accepted, :expires_at, :subject, :maker,
      now() + ${LEASE_SECONDS} * interval '1 second')}`,
  parameters: { ...NEW_KEY, subject: uuid(({ subject }) => subject) },
  sortKey: ({ key_hash }) => key_hash.toString("hex"),
});

export const completeKey = boundWrite<Pick<IdempotencyRow, "key_hash" | "response">>({
  table: "idempotency_keys",
  sql: `
    update idempotency_keys set response = :response, lease_until = null
    where tenant_id = :tenant and key_hash = :key_hash and response is null`,
  parameters: { key_hash: bytes(({ key_hash }) => key_hash), response: bytes(({ response }) => response) },
  sortKey: ({ key_hash }) => key_hash.toString("hex"),
});

export const deleteDueIdempotencyKeys = defineRemoval("idempotency_keys", "expires_at");
