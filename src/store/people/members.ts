import type { Uuid } from "../../base/ids.js";
import { offsetOf, type PageRequest } from "../../base/page.js";
import { boundWrite } from "../statements/bound-statement.js";
import { definePage } from "../statements/counted-page.js";
import { uuid } from "../statements/parameter.js";
import { byteaArray } from "../statements/parameters.js";
import { defineStatement, defineWrite, inSizes } from "../statements/statement.js";
import { lockedRead } from "../transactions/row-lock.js";

export interface MemberRow {
  readonly id: Uuid;
  readonly user_id: Uuid;
  readonly role: string;
  readonly profile: Buffer;
  readonly email_term: Buffer;
  readonly created_by: Uuid | null;
  readonly created_at: Date;
  readonly modified_by: Uuid | null;
  readonly modified_at: Date | null;
}

export type NewMember = Pick<MemberRow, "id" | "user_id" | "role" | "profile" | "email_term" | "created_by">;

export const insertMember = defineWrite<NewMember>({
  table: "members",
  sortKey: ({ id }) => id,
  queries: (sql, tenantId, inputs, at) =>
    inSizes(inputs, (piece) => {
      const rows = piece.map((input) => ({ tenant_id: tenantId, created_at: at, ...input }));
      return sql`insert into members ${sql(rows)}`;
    }),
});

export const readMember = defineStatement<Uuid, MemberRow | null, MemberRow>({
  table: "members",
  kind: "read",
  sortKey: (id) => id,
  queries: (sql, tenantId, ids) => [
    sql`
      select id, user_id, role, profile, email_term, created_by, created_at, modified_by, modified_at
      from members where tenant_id = ${tenantId} and id = any(${[...ids]}::uuid[])`,
  ],
  answers: ([rows = []], ids) => ids.map((id) => rows.find((row) => row.id === id) ?? null),
});

/** Reads a member, and locks it until the transaction ends. */
export const lockMember = lockedRead("members", { id: uuid((id: Uuid) => id) }, readMember);

/** The member who owns the tenant. */
export const readOwner = defineStatement<"owner", MemberRow | null, MemberRow>({
  table: "members",
  kind: "read",
  sortKey: () => "",
  queries: (sql, tenantId) => [
    sql`
      select id, user_id, role, profile, email_term, created_by, created_at, modified_by, modified_at
      from members where tenant_id = ${tenantId} and role = 'OWNER'`,
  ],
  answers: ([rows = []], inputs) => inputs.map(() => rows[0] ?? null),
});

/** The member with this address. */
export const findMemberByAddress = defineStatement<Buffer, MemberRow | null, MemberRow>({
  table: "members",
  kind: "read",
  sortKey: (term) => term.toString("hex"),
  queries: (sql, tenantId, terms) =>
    terms.map(
      (term) => sql`
        select id, user_id, role, profile, email_term, created_by, created_at, modified_by, modified_at
        from members where tenant_id = ${tenantId} and email_term = ${term} order by created_at limit 1`,
    ),
  answers: (rows) => rows.map(([row]) => row ?? null),
});

/** Whether a member has this address. */
export const isMemberAddress = defineStatement<Buffer, boolean, { readonly email_term: Buffer }>({
  table: "members",
  kind: "read",
  sortKey: (term) => term.toString("hex"),
  queries: (sql, tenantId, terms) => [
    sql`
      select email_term from members
      where tenant_id = ${tenantId} and email_term = any(${byteaArray(sql, terms)})`,
  ],
  answers: ([rows = []], terms) => terms.map((term) => rows.some(({ email_term }) => email_term.equals(term))),
});

export interface MemberListing extends PageRequest {
  /** Empty: all. */
  readonly userIds: readonly Uuid[];
}

/** A page, newest first. */
export const listMemberRows = definePage<MemberListing, MemberRow>({
  table: "members",
  sortKey: () => "",
  pair(sql, tenantId, listing) {
    const wanted = sql`
      tenant_id = ${tenantId}
      ${listing.userIds.length > 0 ? sql`and user_id = any(${[...listing.userIds]}::uuid[])` : sql``}`;
    return {
      total: sql`select count(*) as total from members where ${wanted}`,
      rows: sql`
        select id, user_id, role, profile, email_term, created_by, created_at, modified_by, modified_at
        from members where ${wanted}
        order by created_at desc, id desc limit ${listing.size} offset ${offsetOf(listing)}`,
    };
  },
});

export type MemberChange = Pick<MemberRow, "id" | "role" | "profile"> & { readonly modified_by: Uuid };

export const updateMemberRole = defineWrite<MemberChange>({
  table: "members",
  sortKey: ({ id }) => id,
  queries: (sql, tenantId, changes, at) =>
    changes.map(
      ({ id, role, profile, modified_by }) => sql`
        update members set role = ${role}, profile = ${profile}, modified_by = ${modified_by}, modified_at = ${at}
        where tenant_id = ${tenantId} and id = ${id}`,
    ),
});

/** Replaces the sealed profile of a member. */
export const updateMemberProfile = defineWrite<Pick<MemberRow, "id" | "profile">>({
  table: "members",
  sortKey: ({ id }) => id,
  queries: (sql, tenantId, changes) =>
    changes.map(
      ({ id, profile }) => sql`
        update members set profile = ${profile} where tenant_id = ${tenantId} and id = ${id}`,
    ),
});

export const deleteMemberRow = boundWrite<Uuid>({
  table: "members",
  sql: "delete from members where tenant_id = :tenant and id = :id",
  parameters: { id: uuid((id) => id) },
  sortKey: (id) => id,
});
