import type { Uuid } from "../../base/ids.js";
import { defineStatement, defineWrite } from "../statements/statement.js";

/** A passkey of a member. */
export interface PasskeyRow {
  readonly id: Uuid;
  readonly member_id: Uuid;
  readonly credential_hash: Buffer;
  /** Sealed. */
  readonly details: Buffer;
  readonly created_at: Date;
  readonly last_used_at: Date | null;
}

export type NewPasskey = Omit<PasskeyRow, "created_at">;

/** Inserts a passkey. Returns false if the tenant has its credential already. */
export const insertPasskey = defineStatement<NewPasskey, boolean, unknown>({
  table: "passkeys",
  kind: "write",
  sortKey: ({ id }) => id,
  queries: (sql, tenantId, inputs, at) =>
    inputs.map((input) => {
      const row = { tenant_id: tenantId, created_at: at, ...input };
      return sql`insert into passkeys ${sql(row)} on conflict do nothing returning 1`;
    }),
  answers: (rows) => rows.map(({ length }) => length > 0),
});

/** The passkeys of a member, oldest first. */
export const listPasskeyRows = defineStatement<Uuid, readonly PasskeyRow[], PasskeyRow>({
  table: "passkeys",
  kind: "read",
  sortKey: (memberId) => memberId,
  queries: (sql, tenantId, memberIds) =>
    memberIds.map(
      (memberId) => sql`
        select id, member_id, credential_hash, details, created_at, last_used_at from passkeys
        where tenant_id = ${tenantId} and member_id = ${memberId} order by created_at, id`,
    ),
  answers: (rows) => rows,
});

/** Replaces the details of a passkey. */
export const updatePasskey = defineWrite<Pick<PasskeyRow, "id" | "details" | "last_used_at">>({
  table: "passkeys",
  sortKey: ({ id }) => id,
  queries: (sql, tenantId, inputs) =>
    inputs.map(
      ({ id, details, last_used_at }) => sql`
        update passkeys set details = ${details}, last_used_at = ${last_used_at}
        where tenant_id = ${tenantId} and id = ${id}`,
    ),
});

export const deletePasskeyRow = defineWrite<Uuid>({
  table: "passkeys",
  sortKey: (id) => id,
  queries: (sql, tenantId, ids) => [
    sql`delete from passkeys where tenant_id = ${tenantId} and id = any(${[...ids]}::uuid[])`,
  ],
});

/** Deletes all passkeys of a member. */
export const deletePasskeysOf = defineWrite<Uuid>({
  table: "passkeys",
  sortKey: (memberId) => memberId,
  queries: (sql, tenantId, memberIds) => [
    sql`delete from passkeys where tenant_id = ${tenantId} and member_id = any(${[...memberIds]}::uuid[])`,
  ],
});
