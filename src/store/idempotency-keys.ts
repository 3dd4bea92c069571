import { defineStatement, defineWrite, inSizes } from "./statement.js";

/** The stored answer of the first request that was sent with a key. */
export interface IdempotencyRow {
  readonly key_hash: Buffer;
  readonly request_hash: Buffer;
  readonly accepted: boolean;
  readonly response: Buffer;
  readonly expires_at: Date;
}

export const findIdempotencyKey = defineStatement<Buffer, IdempotencyRow | null, IdempotencyRow>({
  table: "idempotency_keys",
  kind: "read",
  sortKey: (hash) => hash.toString("hex"),
  queries: (sql, tenantId, hashes, at) =>
    hashes.map(
      (hash) => sql`
        select key_hash, request_hash, accepted, response, expires_at from idempotency_keys
        where tenant_id = ${tenantId} and key_hash = ${hash} and expires_at > ${at}`,
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
        delete from idempotency_keys where tenant_id = ${tenantId} and key_hash = ${hash} and expires_at <= ${at}`,
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

/** Deletes answers whose day is over. */
export const deleteDueIdempotencyKeys = defineWrite<"due">({
  table: "idempotency_keys",
  sortKey: () => "",
  queries: (sql, tenantId, _inputs, at) => [
    sql`delete from idempotency_keys where tenant_id = ${tenantId} and expires_at <= ${at}`,
  ],
});
