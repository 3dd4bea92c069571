import type { Uuid } from "../../base/ids.js";
import { defineChange, defineHasWritten, defineRead, defineRows } from "../statements/row-statements.js";

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
export const insertPasskey = defineHasWritten<NewPasskey>(
  "passkeys",
  (sql, tenantId, row, at) => sql`
    insert into passkeys ${sql({ tenant_id: tenantId, created_at: at, ...row })} on conflict do nothing returning 1`,
);

export const listPasskeyRows = defineRows<Uuid, PasskeyRow>(
  "passkeys",
  (sql, tenantId, memberId) => sql`
    select id, member_id, credential_hash, details, created_at, last_used_at from passkeys
    where tenant_id = ${tenantId} and member_id = ${memberId} order by created_at, id`,
);

/** The passkeys of all members, oldest first. A member has at most 10. */
export const listAllPasskeyRows = defineRows<"all", PasskeyRow>(
  "passkeys",
  (sql, tenantId) => sql`
    select id, member_id, credential_hash, details, created_at, last_used_at from passkeys
    where tenant_id = ${tenantId} order by created_at, id`,
);

export const readPasskeyRow = defineRead<PasskeyRow>(
  "passkeys",
  "id, member_id, credential_hash, details, created_at, last_used_at",
);

export const updatePasskey = defineChange<Pick<PasskeyRow, "id" | "details" | "last_used_at">>(
  "passkeys",
  (sql, tenantId, { id, details, last_used_at }) => sql`
    update passkeys set details = ${details}, last_used_at = ${last_used_at}
    where tenant_id = ${tenantId} and id = ${id}`,
);

export const deletePasskeyRow = defineChange<Uuid>(
  "passkeys",
  (sql, tenantId, id) => sql`delete from passkeys where tenant_id = ${tenantId} and id = ${id}`,
);

export const deleteMemberPasskeys = defineChange<Uuid>(
  "passkeys",
  (sql, tenantId, memberId) => sql`delete from passkeys where tenant_id = ${tenantId} and member_id = ${memberId}`,
);
