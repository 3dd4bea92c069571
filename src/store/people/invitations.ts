import type { Uuid } from "../../base/ids.js";
import type { PageRequest } from "../../base/page.js";
import { AUTHORSHIP, type AuthorshipColumns } from "../statements/authorship.js";
import { boundWrite } from "../statements/bound-statement.js";
import { defineList } from "../statements/counted-page.js";
import { time, uuid } from "../statements/parameter.js";
import { byteaArray } from "../statements/parameters.js";
import { defineRemoval } from "../statements/removal.js";
import {
  defineChange,
  defineDelete,
  defineHasRow,
  defineRead,
  defineWrittenRows,
} from "../statements/row-statements.js";
import { lockedById } from "../transactions/row-lock.js";

export interface InvitationRow extends AuthorshipColumns {
  readonly id: Uuid;
  readonly email: Buffer;
  readonly role: string;
  readonly revision: number;
  readonly expires_at: Date;
}

export type NewInvitation = Pick<InvitationRow, "id" | "email" | "role" | "expires_at" | "created_by"> & {
  readonly email_term: Buffer;
};

const COLUMNS = `id, email, role, revision, expires_at, ${AUTHORSHIP}`;

export const insertInvitation = defineChange<NewInvitation>(
  "invitations",
  (sql, tenantId, row, at) => sql`
    insert into invitations
      ${sql({ tenant_id: tenantId, revision: 1, created_at: at, ...row, link_hashes: byteaArray(sql, []) })}`,
);

/** An invitation that is not accepted. */
export const readInvitation = defineRead<InvitationRow>("invitations", COLUMNS, "member_id is null");

/** Reads an invitation that is not accepted, and locks it until the transaction ends. */
export const lockInvitation = lockedById("invitations", readInvitation);

/** Whether an address has an invitation. An expired one counts until it is accepted or deleted. */
export const isInvitedAddress = defineHasRow<Buffer>(
  "invitations",
  (sql, tenantId, term) =>
    sql`select 1 from invitations where tenant_id = ${tenantId} and email_term = ${term} limit 1`,
);

export interface InvitationListing extends PageRequest {
  /** Undefined: all. */
  readonly isOver: boolean | undefined;
}

export const listInvitationRows = defineList<InvitationListing & { readonly now: Date }, InvitationRow>(
  "invitations",
  COLUMNS,
  (sql, listing) => {
    const { isOver, now } = listing;
    return sql`and member_id is null
      ${isOver === undefined ? sql`` : isOver ? sql`and expires_at <= ${now}` : sql`and expires_at > ${now}`}`;
  },
);

export type InvitationRenewal = Pick<InvitationRow, "id" | "expires_at"> & { readonly modified_by: Uuid };

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
});

/** Deletes an invitation that is not accepted. Returns whether it existed. */
export const deleteInvitationRow = defineDelete("invitations", "member_id is null");

export interface InvitationOfAddress {
  readonly id: Uuid;
  /** Null: not accepted, expired or not. */
  readonly member_id: Uuid | null;
}

/** Deletes all invitations of an address, including accepted ones. Returns the deleted ones. */
export const deleteInvitationsTo = defineWrittenRows<Buffer, InvitationOfAddress>(
  "invitations",
  (sql, tenantId, term) => sql`
    delete from invitations where tenant_id = ${tenantId} and email_term = ${term} returning id, member_id`,
);

export const deleteDueInvitations = defineRemoval("invitations", "expires_at", "member_id is not null");
