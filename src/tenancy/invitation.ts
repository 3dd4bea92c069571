import { actorOf, type Caller } from "../access/caller.js";
import { isRole, type Role } from "../access/role.js";
import { ANY_ENTITY_ID, logEntry } from "../audit/log-entry.js";
import { DAY_MS } from "../base/clock.js";
import { invalid, notFound } from "../base/fault.js";
import { newUuid, type TenantId, type Uuid } from "../base/ids.js";
import { isJsonObject, type Json } from "../base/json.js";
import type { Page, PageRequest } from "../base/page.js";
import { open, SealBroken, seal } from "../crypto/sealed.js";
import type { TenantKeys } from "../crypto/tenant-keys.js";
import { writeLog } from "../store/audit/audit-logs.js";
import { scheduleDue } from "../store/jobs/due.js";
import { deleteMessagesOf, insertMessage } from "../store/jobs/outbox.js";
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
import type { OrdinaryTransaction, Transaction } from "../store/transactions/transaction.js";
import { emailTerm } from "./profile.js";

export type InvitationStatus = "PENDING" | "EXPIRED";

/** How long an invitation can be accepted after its creation, and the extension for each resend. */
const LIFETIME_MS = 3 * DAY_MS;

/** An invitation to join a tenant. */
export interface Invitation {
  readonly id: Uuid;
  readonly email: string;
  readonly status: InvitationStatus;
  readonly role: Role;
  readonly expiresAt: Date;
  readonly createdBy: Uuid | null;
  readonly createdAt: Date;
  readonly modifiedBy: Uuid | null;
  readonly modifiedAt: Date | null;
}

/**
 * Invites an address and queues the message. @throws {Fault} validation_failed for the address of a member, or one
 * invited already.
 */
export async function createInvitation(
  tx: Transaction,
  caller: Caller,
  keys: TenantKeys,
  { email, role }: { readonly email: string; readonly role: Role },
): Promise<Invitation> {
  const term = emailTerm(keys, email);
  const [isMember, isInvited] = await Promise.all([tx.query(isMemberAddress, term), tx.query(isInvitedAddress, term)]);
  if (isMember) throw invalid("email", "must not be the address of a member");
  if (isInvited) throw invalid("email", "must not be invited already: send that invitation again");
  const id = newUuid();
  const actor = actorOf(caller);
  const row = {
    id,
    email: sealEmail(keys, tx.tenantId, id, email, role),
    role,
    expires_at: new Date(tx.now.getTime() + LIFETIME_MS),
    created_by: actor.id,
  };
  tx.enqueue(insertInvitation, { ...row, email_term: term });
  tellInvited(tx, id, 1);
  writeLog(tx, logEntry(actor, "invitation", id, "create"));
  const untouched = { revision: 1, created_at: tx.now, modified_by: null, modified_at: null };
  return invitationOf(keys, tx, { ...row, ...untouched });
}

export async function getInvitation(tx: Transaction, caller: Caller, keys: TenantKeys, id: Uuid): Promise<Invitation> {
  const row = await tx.query(readInvitation, id);
  if (!row) throw notFound("invitation");
  writeLog(tx, logEntry(actorOf(caller), "invitation", id, "read"));
  return invitationOf(keys, tx, row);
}

export async function listInvitations(
  tx: Transaction,
  caller: Caller,
  keys: TenantKeys,
  { status, ...page }: PageRequest & { readonly status: InvitationStatus | undefined },
): Promise<Page<Invitation>> {
  const isOver = status === undefined ? undefined : status === "EXPIRED";
  const { items, total } = await tx.query(listInvitationRows, { ...page, isOver, now: tx.now });
  writeLog(tx, logEntry(actorOf(caller), "invitation", ANY_ENTITY_ID, "list"));
  return { items: items.map((row) => invitationOf(keys, tx, row)), total };
}

/** Resends an invitation, expired or not: invalidates its earlier links and extends it by 72 hours. */
export async function resendInvitation(
  tx: OrdinaryTransaction,
  caller: Caller,
  keys: TenantKeys,
  id: Uuid,
): Promise<Invitation> {
  const actor = actorOf(caller);
  const row = await lockInvitation(tx, id);
  if (!row) throw notFound("invitation");
  // An expired invitation starts from now: 72 hours from its old expiry may also have passed.
  const from = Math.max(row.expires_at.getTime(), tx.now.getTime());
  const change = { expires_at: new Date(from + LIFETIME_MS), modified_by: actor.id };
  tx.enqueue(renewInvitation, { id, ...change });
  tx.enqueue(deleteMessagesOf, id);
  tellInvited(tx, id, row.revision + 1);
  writeLog(tx, logEntry(actor, "invitation", id, "resend"));
  return invitationOf(keys, tx, { ...row, ...change, modified_at: tx.now });
}

/** Withdraws an invitation and invalidates its links. */
export async function deleteInvitation(tx: Transaction, caller: Caller, id: Uuid): Promise<void> {
  if (!(await tx.query(deleteInvitationRow, id))) throw notFound("invitation");
  tx.enqueue(deleteMessagesOf, id);
  writeLog(tx, logEntry(actorOf(caller), "invitation", id, "delete"));
}

/** What is sealed of an invitation, as it is stored. */
type Invited = Pick<InvitationRow, "id" | "email" | "role">;

/**
 * The address that an invitation is for.
 * @throws {SealBroken} if no server invited it to this role: the column alone could be changed by the owner of the
 *   database. Invitations of earlier releases have the address only; an invitation cannot give the role OWNER.
 */
export function openEmail(keys: TenantKeys, tenantId: TenantId, { id, email, role }: Invited): string {
  const text = open(keys.data, { tenantId, entity: id, field: "email" }, email).toString();
  const { email: address, role: sealed } = sealedParts(text);
  if (role === "OWNER" || (sealed !== undefined && sealed !== role)) {
    throw new SealBroken("the role of an invitation was changed in the database");
  }
  return address;
}

function sealedParts(text: string): { readonly email: string; readonly role: string | undefined } {
  try {
    const parts: Json = JSON.parse(text);
    if (isJsonObject(parts)) return { email: String(parts.email), role: String(parts.role) };
  } catch {
    // An address is not JSON.
  }
  return { email: text, role: undefined };
}

function sealEmail(keys: TenantKeys, tenantId: TenantId, id: Uuid, email: string, role: Role): Buffer {
  const content = JSON.stringify({ email, role });
  return seal(keys.data, { tenantId, entity: id, field: "email" }, Buffer.from(content));
}

/** Queues the message with the link. */
function tellInvited(tx: Transaction, invitationId: Uuid, revision: number): void {
  tx.enqueue(insertMessage, { id: newUuid(), invitation_id: invitationId, invitation_revision: revision });
  scheduleDue(tx, { kind: "mail", at: tx.now });
}

function invitationOf(keys: TenantKeys, { tenantId, now }: Transaction, row: InvitationRow): Invitation {
  if (!isRole(row.role)) throw new Error("an invitation to an unknown role is stored");
  return {
    id: row.id,
    email: openEmail(keys, tenantId, row),
    status: row.expires_at > now ? "PENDING" : "EXPIRED",
    role: row.role,
    expiresAt: row.expires_at,
    createdBy: row.created_by,
    createdAt: row.created_at,
    modifiedBy: row.modified_by,
    modifiedAt: row.modified_at,
  };
}
