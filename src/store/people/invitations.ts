import type { Uuid } from "../../base/ids.js";
import { offsetOf, type PageRequest } from "../../base/page.js";
import { boundWrite } from "../statements/bound-statement.js";
import { definePage } from "../statements/counted-page.js";
import { time, uuid } from "../statements/parameter.js";
import { byteaArray } from "../statements/parameters.js";
import { defineRemoval } from "../statements/removal.js";
import { defineStatement, defineWrite } from "../statements/statement.js";
import { lockedRead } from "../transactions/row-lock.js";

export interface InvitationRow {
  readonly id: Uuid;
  readonly email: Buffer;
  readonly role: string;
  readonly revision: number;
  readonly expires_at: Date;
  readonly created_by: Uuid | null;
  readonly created_at: Date;
  readonly modified_by: Uuid | null;
  readonly modified_at: Date | null;
}

export type NewInvitation = Pick<InvitationRow, "id" | "email" | "role" | "expires_at" | "created_by"> & {
  readonly email_term: Buffer;
};

export const insertInvitation = defineWrite<NewInvitation>({
  table: "invitations",
  sortKey: ({ id }) => id,
  queries: (sql, tenantId, inputs, at) =>
    inputs.map((input) => {
      const row = { tenant_id: tenantId, revision: 1, created_at: at, ...input };
      return sql`
        insert into invitations ${sql({ ...row, link_hashes: byteaArray(sql, []) })}`;
    }),
});

/** An invitation that is not accepted. */
export const readInvitation = defineStatement<Uuid, InvitationRow | null, InvitationRow>({
  table: "invitations",
  kind: "read",
  sortKey: (id) => id,
  queries: (sql, tenantId, ids) => [
    sql`
      select id, email, role, revision, expires_at, created_by, created_at, modified_by, modified_at
      from invitations where tenant_id = ${tenantId} and id = any(${[...ids]}::uuid[]) and member_id is null`,
  ],
  answers: ([rows = []], ids) => ids.map((id) => rows.find((row) => row.id === id) ?? null),
});

/** Reads an invitation that is not accepted, and locks it until the transaction ends. */
export const lockInvitation = lockedRead("invitations", { id: uuid((id: Uuid) => id) }, readInvitation);

/** Whether an address has an invitation. An expired one counts until it is accepted or deleted. */
export const isInvitedAddress = defineStatement<Buffer, boolean, { readonly email_term: Buffer }>({
  table: "invitations",
  kind: "read",
  sortKey: (term) => term.toString("hex"),
  queries: (sql, tenantId, terms) => [
    sql`
      select email_term from invitations
      where tenant_id = ${tenantId} and email_term = any(${byteaArray(sql, terms)})`,
  ],
  answers: ([rows = []], terms) => terms.map((term) => rows.some(({ email_term }) => email_term.equals(term))),
});

export interface InvitationListing extends PageRequest {
  /** Undefined: all. */
  readonly isOver: boolean | undefined;
}

/** A page, newest first. */
export const listInvitationRows = definePage<InvitationListing & { readonly now: Date }, InvitationRow>({
  table: "invitations",
  sortKey: () => "",
  pair(sql, tenantId, listing) {
    const { isOver, now } = listing;
    const wanted = sql`
      tenant_id = ${tenantId} and member_id is null
      ${isOver === undefined ? sql`` : isOver ? sql`and expires_at <= ${now}` : sql`and expires_at > ${now}`}`;
    return {
      total: sql`select count(*) as total from invitations where ${wanted}`,
      rows: sql`
        select id, email, role, revision, expires_at, created_by, created_at, modified_by, modified_at
        from invitations where ${wanted}
        order by created_at desc, id desc limit ${listing.size} offset ${offsetOf(listing)}`,
    };
  },
});

export type InvitationRenewal = Pick<InvitationRow, "id" | "expires_at"> & { readonly modified_by: Uuid };

/** Ends all links of an invitation and extends its time. */
export const renewInvitation = boundWrite<InvitationRenewal>({
  table: "invitations",
  sql: `
    update invitations set link_hashes = array[]::bytea[], revision = revision + 1, expires_at = :expires_at,
      modified_by = :modified_by, modified_at = :now
    where tenant_id = :tenant and id = :id`,
  parameters: {
    id: uuid(({ id }) => id),
    expires_at: time(({ expires_at }) => expires_at),
    modified_by: uuid(({ modified_by }) => modified_by),
  },
  sortKey: ({ id }) => id,
});

/** Deletes an invitation that is not accepted. Returns whether it existed. */
export const deleteInvitationRow = defineStatement<Uuid, boolean, unknown>({
  table: "invitations",
  kind: "write",
  sortKey: (id) => id,
  queries: (sql, tenantId, ids) =>
    ids.map(
      (id) => sql`
        delete from invitations where tenant_id = ${tenantId} and id = ${id} and member_id is null returning 1`,
    ),
  answers: (rows) => rows.map(({ length }) => length > 0),
});

export interface InvitationOfAddress {
  readonly id: Uuid;
  /** Null: not accepted, expired or not. */
  readonly member_id: Uuid | null;
}

/** Deletes all invitations of an address, including accepted ones. Returns the deleted ones. */
export const deleteInvitationsOf = defineStatement<Buffer, readonly InvitationOfAddress[], InvitationOfAddress>({
  table: "invitations",
  kind: "write",
  sortKey: (term) => term.toString("hex"),
  queries: (sql, tenantId, terms) =>
    terms.map(
      (term) => sql`
        delete from invitations where tenant_id = ${tenantId} and email_term = ${term} returning id, member_id`,
    ),
  answers: (rows) => rows,
});

/** Deletes accepted invitations after their links have expired. */
export const deleteDueInvitations = defineRemoval("invitations", "expires_at", "member_id is not null");
