import type { Uuid } from "../../base/ids.js";
import { defineChange, defineHasRow, defineInsert, defineRow } from "../statements/row-statements.js";

export interface MemberIdentityRow {
  readonly id: Uuid;
  readonly member_id: Uuid;
  readonly identity_term: Buffer;
  /** Sealed. */
  readonly proof: Buffer;
}

export const insertMemberIdentity = defineInsert<MemberIdentityRow>("member_identities");

export const findMemberIdentity = defineRow<Buffer, MemberIdentityRow>(
  "member_identities",
  (sql, tenantId, term) => sql`
    select id, member_id, identity_term, proof from member_identities
    where tenant_id = ${tenantId} and identity_term = ${term}`,
);

export const hasMemberIdentity = defineHasRow<Uuid>(
  "member_identities",
  (sql, tenantId, memberId) => sql`
    select 1 from member_identities where tenant_id = ${tenantId} and member_id = ${memberId} limit 1`,
);

export const deleteMemberIdentities = defineChange<Uuid>(
  "member_identities",
  (sql, tenantId, memberId) =>
    sql`delete from member_identities where tenant_id = ${tenantId} and member_id = ${memberId}`,
);
