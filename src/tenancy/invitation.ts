import { storedContainers } from "../access/assigned-containers.js";
import { type Authorship, readAuthorship } from "../access/authorship.js";
import { loggedActor } from "../access/caller.js";
import type { CallerTransaction, OrdinaryCallerTransaction } from "../access/caller-transaction.js";
import type { ContainerPath } from "../access/container.js";
import { type GivenRole, requireMayGiveRole } from "../access/given-role.js";
import { isRole, type Role } from "../access/role.js";
import { changesBetween } from "../audit/log-changes.js";
import { ANY_ENTITY_ID } from "../audit/log-entry.js";
import type { TenantTransaction } from "../audit/tenant-transaction.js";
import { DAY_MS } from "../base/clock.js";
import { invalid, notFound } from "../base/fault.js";
import { newUuid, type Uuid } from "../base/ids.js";
import type { Page, PageRequest } from "../base/page.js";
import { SealBroken } from "../crypto/sealed.js";
import { sealedRecord } from "../crypto/sealed-record.js";
import type { TenantKeys } from "../crypto/tenant-keys.js";
import { scheduleDue } from "../store/jobs/due.js";
import { deleteInvitationMessages, insertMessage } from "../store/jobs/outbox.js";
import {
  deleteInvitationRow,
  type InvitationRow,
  insertInvitation,
  isInvitedAddress,
  listInvitationRows,
  lockInvitation,
  readInvitation,
  renewInvitation,
} from "../store/people/invitations.js";
import { isMemberAddress } from "../store/people/members.js";
import type { Transaction } from "../store/transactions/transaction.js";
import { countInvitation } from "./mail-limits.js";
import { emailTerm } from "./profile.js";

export type InvitationStatus = "PENDING" | "EXPIRED";

/** How long an invitation can be accepted after its creation, and the extension for each resend. */
const LIFETIME_MS = 3 * DAY_MS;

export interface Invitation extends Authorship {
  readonly id: Uuid;
  readonly email: string;
  readonly status: InvitationStatus;
  readonly role: Role;
  /** The containers that are assigned to the member. */
  readonly containers: readonly ContainerPath[];
  readonly expiresAt: Date;
}

/**
 * Invites an address and queues the message.
 * @throws {Denied} if the caller holds less than the role can ever hold.
 * @throws {Fault} validation_failed for the address of a member, or one invited already; rate_limited for more mails than
 *   a tenant may send.
 */
export async function createInvitation(
  tx: CallerTransaction,
  { email, role, containers }: GivenRole & { readonly email: string },
): Promise<Invitation> {
  requireMayGiveRole(tx.caller, { role, containers });
  const term = emailTerm(tx.keys, email);
  const [isMember, isInvited] = await Promise.all([tx.query(isMemberAddress, term), tx.query(isInvitedAddress, term)]);
  if (isMember) throw invalid("email", "must not be the address of a member");
  if (isInvited) throw invalid("email", "must not be invited already: send that invitation again");
  await countInvitation(tx);
  const id = newUuid();
  const actor = loggedActor(tx.caller);
  const row = {
    id,
    email: invitationRecord.seal(tx.keys, { id }, { email, role, containers }),
    role,
    expires_at: new Date(tx.now.getTime() + LIFETIME_MS),
    created_by: actor.id,
  };
  tx.enqueue(insertInvitation, { ...row, email_term: term });
  tellInvited(tx, id, 1);
  tx.log("invitation", id, "create", { changes: changesBetween(undefined, { role, containers }) });
  const untouched = { revision: 1, created_at: tx.now, modified_by: null, modified_at: null };
  return invitationOf(tx, { ...row, ...untouched });
}

export async function getInvitation(tx: CallerTransaction, id: Uuid): Promise<Invitation> {
  const row = await tx.query(readInvitation, id);
  if (!row) throw notFound("invitation");
  tx.log("invitation", id, "read");
  return invitationOf(tx, row);
}

export async function listInvitations(
  tx: CallerTransaction,
  { status, ...page }: PageRequest & { readonly status: InvitationStatus | undefined },
): Promise<Page<Invitation>> {
  const isOver = status === undefined ? undefined : status === "EXPIRED";
  const { items, total } = await tx.query(listInvitationRows, { ...page, isOver, now: tx.now });
  tx.log("invitation", ANY_ENTITY_ID, "list");
  return { items: items.map((row) => invitationOf(tx, row)), total };
}

/**
 * Resends an invitation, expired or not: invalidates its earlier links and extends it by 72 hours.
 * @throws {Denied} if the caller holds less than the role can ever hold: this gives it again.
 * @throws {Fault} rate_limited.
 */
export async function resendInvitation(tx: OrdinaryCallerTransaction, id: Uuid): Promise<Invitation> {
  const actor = loggedActor(tx.caller);
  const row = await lockInvitation(tx, id);
  if (!row) throw notFound("invitation");
  requireMayGiveRole(tx.caller, openInvited(tx.keys, row));
  await countInvitation(tx);
  // An expired invitation starts from now: 72 hours from its old expiry may also have passed.
  const from = Math.max(row.expires_at.getTime(), tx.now.getTime());
  const change = { expires_at: new Date(from + LIFETIME_MS), modified_by: actor.id };
  tx.enqueue(renewInvitation, { id, ...change });
  tx.enqueue(deleteInvitationMessages, id);
  tellInvited(tx, id, row.revision + 1);
  tx.log("invitation", id, "resend");
  return invitationOf(tx, { ...row, ...change, modified_at: tx.now });
}

/** Withdraws an invitation and invalidates its links. */
export async function deleteInvitation(tx: CallerTransaction, id: Uuid): Promise<void> {
  if (!(await tx.query(deleteInvitationRow, id))) throw notFound("invitation");
  tx.enqueue(deleteInvitationMessages, id);
  tx.log("invitation", id, "delete");
}

type Invited = Pick<InvitationRow, "id" | "email" | "role">;

/**
 * The address that an invitation is for, and what it gives.
 * @throws {SealBroken} if no server invited it to this role: the column alone could be changed by the owner of the
 *   database. An invitation cannot give the role OWNER.
 */
export function openInvited(keys: TenantKeys, { id, email, role }: Invited): GivenRole & { readonly email: string } {
  const sealed = invitationRecord.open(keys, { id }, email);
  if (!isRole(role) || role === "OWNER" || sealed.role !== role) {
    throw new SealBroken("the role of an invitation was changed in the database");
  }
  return { email: String(sealed.email), role, containers: storedContainers(sealed.containers) };
}

export const invitationRecord = sealedRecord({
  field: "email",
  write: (invited: GivenRole & { readonly email: string }) => invited,
  read: (stored) => stored,
});

function tellInvited(tx: Transaction, invitationId: Uuid, revision: number): void {
  tx.enqueue(insertMessage, { id: newUuid(), invitation_id: invitationId, invitation_revision: revision });
  scheduleDue(tx, { kind: "mail", at: tx.now });
}

function invitationOf({ now, keys }: TenantTransaction, row: InvitationRow): Invitation {
  return {
    id: row.id,
    ...openInvited(keys, row),
    status: row.expires_at > now ? "PENDING" : "EXPIRED",
    expiresAt: row.expires_at,
    ...readAuthorship(row),
  };
}
