import type { Uuid } from "../../base/ids.js";
import { defineStatement, defineWrite } from "../statements/statement.js";

/** The identity of a member at an OpenID Connect issuer. */
export interface MemberIdentityRow {
  readonly id: Uuid;
  readonly member_id: Uuid;
  readonly identity_term: Buffer;
  /** Sealed. */
  readonly proof: Buffer;
}

export const insertMemberIdentity = defineWrite<MemberIdentityRow>({
  table: "member_identities",
  sortKey: ({ id }) => id,
  queries: (sql, tenantId, inputs, at) =>
    inputs.map((input) => {
      const row = { tenant_id: tenantId, created_at: at, ...input };
      return sql`insert into member_identities ${sql(row)}`;
    }),
});

export const findMemberIdentity = defineStatement<Buffer, MemberIdentityRow | null, MemberIdentityRow>({
  table: "member_identities",
  kind: "read",
  sortKey: (term) => term.toString("hex"),
  queries: (sql, tenantId, terms) =>
    terms.map(
      (term) => sql`
        select id, member_id, identity_term, proof from member_identities
        where tenant_id = ${tenantId} and identity_term = ${term}`,
    ),
  answers: (rows) => rows.map(([row]) => row ?? null),
});

/** Whether a member is bound to an identity. */
export const hasMemberIdentity = defineStatement<Uuid, boolean, unknown>({
  table: "member_identities",
  kind: "read",
  sortKey: (memberId) => memberId,
  queries: (sql, tenantId, memberIds) =>
    memberIds.map(
      (memberId) => sql`
        select 1 from member_identities where tenant_id = ${tenantId} and member_id = ${memberId} limit 1`,
    ),
  answers: (rows) => rows.map(({ length }) => length > 0),
});

export const deleteMemberIdentities = defineWrite<Uuid>({
  table: "member_identities",
  sortKey: (memberId) => memberId,
  queries: (sql, tenantId, memberIds) => [
    sql`delete from member_identities where tenant_id = ${tenantId} and member_id = any(${[...memberIds]}::uuid[])`,
  ],
});
