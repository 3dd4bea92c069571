import { defineStatement, inSizes } from "./statement.js";

/** The stored answer of the first request that was sent with a key. */
export interface IdempotencyRow {
  readonly key_hash: Buffer;
  readonly request_hash: Buffer;
  readonly accepted: boolean;
  readonly response: Buffer;
  readonly expires_at: Date;
}

export const findIdempotencyKey = defineStatement<Buffer, IdempotencyRow | null>({
  table: "idempotency_keys",
  kind: "read",
  sortKey: (hash) => hash.toString("hex"),
  async run(sql, tenantId, hashes, at) {
    const rows = await Promise.all(
      hashes.map(
        (hash) => sql<IdempotencyRow[]>`
          select key_hash, request_hash, accepted, response, expires_at from idempotency_keys
          where tenant_id = ${tenantId} and key_hash = ${hash} and expires_at > ${at}`,
      ),
    );
    return rows.map(([row]) => row ?? null);
  },
});

/** Makes room for a new answer under a key whose day is over and that no sweep has removed yet. */
export const dropExpiredIdempotencyKey = defineStatement<Buffer, never>({
  table: "idempotency_keys",
  kind: "write",
  sortKey: (hash) => hash.toString("hex"),
  async run(sql, tenantId, hashes, at) {
    await Promise.all(
      hashes.map(
        (hash) => sql`
          delete from idempotency_keys where tenant_id = ${tenantId} and key_hash = ${hash} and expires_at <= ${at}`,
      ),
    );
    return [];
  },
});

/** Fails with a unique violation when another request with the key was first. */
export const insertIdempotencyKey = defineStatement<IdempotencyRow, never>({
  table: "idempotency_keys",
  kind: "write",
  sortKey: ({ key_hash }) => key_hash.toString("hex"),
  run(sql, tenantId, drafts) {
    return inSizes(drafts, (piece) => {
      const rows = piece.map((draft) => ({ tenant_id: tenantId, ...draft }));
      return sql`insert into idempotency_keys ${sql(rows)}`;
    });
  },
});
