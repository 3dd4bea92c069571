import type { Uuid } from "../../base/ids.js";
import type { PageRequest } from "../../base/page.js";
import { AUTHORSHIP, type AuthorshipColumns } from "../statements/authorship.js";
import { boundWrite } from "../statements/bound-statement.js";
import { defineList, matchesAny } from "../statements/counted-page.js";
import { uuid } from "../statements/parameter.js";
import {
  defineChange,
  defineHasRow,
  defineInsert,
  defineRead,
  defineRow,
  defineRows,
} from "../statements/row-statements.js";
import { lockedById } from "../transactions/row-lock.js";

export interface MemberRow extends AuthorshipColumns {
  readonly id: Uuid;
  readonly user_id: Uuid;
  readonly role: string;
  readonly profile: Buffer;
  readonly email_term: Buffer;
}

export type NewMember = Pick<MemberRow, "id" | "user_id" | "role" | "profile" | "email_term" | "created_by">;

const COLUMNS = `id, user_id, role, profile, email_term, ${AUTHORSHIP}`;

export const insertMember = defineInsert<NewMember>("members");

export const readMember = defineRead<MemberRow>("members", COLUMNS);

export const lockMember = lockedById("members", readMember);

export const readOwner = defineRow<"owner", MemberRow>(
  "members",
  (sql, tenantId) => sql`
    select ${sql.unsafe(COLUMNS)} from members where tenant_id = ${tenantId} and role = 'OWNER'`,
);

/** The members who may administer others, who joined first. More than a hundred are not looked at. */
export const listAdministrators = defineRows<"all", MemberRow>(
  "members",
  (sql, tenantId) => sql`
    select ${sql.unsafe(COLUMNS)} from members where tenant_id = ${tenantId} and role in ('OWNER', 'ADMIN')
    order by created_at, id limit 100`,
);

export const findMemberByAddress = defineRow<Buffer, MemberRow>(
  "members",
  (sql, tenantId, term) => sql`
    select ${sql.unsafe(COLUMNS)}
    from members where tenant_id = ${tenantId} and email_term = ${term} order by created_at limit 1`,
);

export const findMemberOfUser = defineRow<Uuid, MemberRow>(
  "members",
  (sql, tenantId, userId) => sql`
    select ${sql.unsafe(COLUMNS)} from members where tenant_id = ${tenantId} and user_id = ${userId} limit 1`,
);

export const isMemberAddress = defineHasRow<Buffer>(
  "members",
  (sql, tenantId, term) => sql`select 1 from members where tenant_id = ${tenantId} and email_term = ${term} limit 1`,
);

export interface MemberListing extends PageRequest {
  readonly userIds: readonly Uuid[];
}

export const listMemberRows = defineList<MemberListing, MemberRow>("members", COLUMNS, (sql, listing) =>
  matchesAny(sql, "user_id", listing.userIds),
);

export type MemberChange = Pick<MemberRow, "id" | "role" | "profile"> & { readonly modified_by: Uuid };

export const updateMemberRole = defineChange<MemberChange>(
  "members",
  (sql, tenantId, { id, role, profile, modified_by }, at) => sql`
    update members set role = ${role}, profile = ${profile}, modified_by = ${modified_by}, modified_at = ${at}
    where tenant_id = ${tenantId} and id = ${id}`,
);

export const updateMemberProfile = defineChange<Pick<MemberRow, "id" | "profile">>(
  "members",
  (sql, tenantId, { id, profile }) => sql`
    update members set profile = ${profile} where tenant_id = ${tenantId} and id = ${id}`,
);

export const deleteMemberRow = boundWrite<Uuid>({
  table: "members",
  sql: "delete from members where tenant_id = :tenant and id = :id",
  parameters: { id: uuid((id) => id) },
});
