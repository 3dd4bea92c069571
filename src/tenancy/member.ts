import { actorOf, type Caller } from "../access/caller.js";
import { isRole, type Role } from "../access/role.js";
import { ANY_ENTITY_ID, logEntry } from "../audit/log-entry.js";
import { Fault, notFound } from "../base/fault.js";
import type { TenantId, Uuid } from "../base/ids.js";
import type { Page } from "../base/page.js";
import type { TenantKeys } from "../crypto/tenant-keys.js";
import { writeLog } from "../store/audit/audit-logs.js";
import { deleteMessagesOf } from "../store/jobs/outbox.js";
import { deleteInvitationsOf } from "../store/people/invitations.js";
import { deleteMemberIdentities } from "../store/people/member-identities.js";
import {
  deleteMemberRow,
  listMemberRows,
  lockMember,
  type MemberListing,
  type MemberRow,
  readOwner,
  updateMemberRole,
} from "../store/people/members.js";
import { deletePasskeysOf } from "../store/people/passkeys.js";
import { deleteSignInsOf } from "../store/people/sign-ins.js";
import { incrementAuthRevision } from "../store/tenancy/tenants.js";
import type { OrdinaryTransaction, Transaction } from "../store/transactions/transaction.js";
import { isSealedWithPasskey, openProfile, type Profile, sealProfile } from "./profile.js";
import { requireGivenRole } from "./role.js";

/** A person who belongs to a tenant. */
export interface Member {
  readonly id: Uuid;
  readonly userId: Uuid;
  readonly role: Role;
  readonly profile: Profile;
  readonly createdBy: Uuid | null;
  readonly createdAt: Date;
  readonly modifiedBy: Uuid | null;
  readonly modifiedAt: Date | null;
}

/** Newest first, with opened profiles. */
export async function listMembers(
  tx: Transaction,
  caller: Caller,
  keys: TenantKeys,
  listing: MemberListing,
): Promise<Page<Member>> {
  const { items, total } = await tx.query(listMemberRows, listing);
  writeLog(tx, logEntry(actorOf(caller), "member", ANY_ENTITY_ID, "list"));
  return { items: items.map((row) => memberOf(keys, tx.tenantId, row)), total };
}

/** The single member that the tenant was created with. */
export async function getOwner(tx: Transaction, caller: Caller, keys: TenantKeys): Promise<Member> {
  const row = await tx.query(readOwner, "owner");
  if (!row) throw notFound("owner");
  writeLog(tx, logEntry(actorOf(caller), "member", row.id, "read"));
  return memberOf(keys, tx.tenantId, row);
}

/** Changes a member's role. The owner's role is fixed. */
export async function updateMember(
  tx: OrdinaryTransaction,
  caller: Caller,
  keys: TenantKeys,
  id: Uuid,
  role: string,
): Promise<Member> {
  const row = await lockMember(tx, id);
  if (!row) throw notFound("member");
  const actor = actorOf(caller);
  requireOther(caller, id);
  const isOwner = row.role === "OWNER";
  const given = isOwner && role === "OWNER" ? role : requireGivenRole(role);
  if (isOwner && given !== "OWNER") throw ownerStays("given another role");
  const rights = { role: given, needsPasskey: isSealedWithPasskey(keys, tx.tenantId, row) };
  const profile = sealProfile(keys, tx.tenantId, id, openProfile(keys, tx.tenantId, id, row.profile), rights);
  tx.enqueue(updateMemberRole, { id, role: given, profile, modified_by: actor.id });
  if (given !== row.role) endAccess(tx, id);
  writeLog(tx, logEntry(actor, "member", id, "update"));
  return memberOf(keys, tx.tenantId, { ...row, role: given, modified_by: actor.id, modified_at: tx.now });
}

/**
 * Deletes a member with every invitation of its address, so the member cannot rejoin by an old link, and ends its
 * sign-ins.
 */
export async function deleteMember(tx: OrdinaryTransaction, caller: Caller, id: Uuid): Promise<void> {
  const row = await lockMember(tx, id);
  if (!row) throw notFound("member");
  requireOther(caller, id);
  if (row.role === "OWNER") throw ownerStays("removed");
  tx.enqueue(deleteMemberRow, id);
  tx.enqueue(deleteMemberIdentities, id);
  tx.enqueue(deletePasskeysOf, id);
  endAccess(tx, id);
  const actor = actorOf(caller);
  for (const invitation of await tx.query(deleteInvitationsOf, row.email_term)) {
    tx.enqueue(deleteMessagesOf, invitation.id);
    if (invitation.member_id === null) writeLog(tx, logEntry(actor, "invitation", invitation.id, "delete"));
  }
  writeLog(tx, logEntry(actor, "member", id, "delete"));
}

/** Ends a member's sign-ins. Requests under way fail, because they were authorized under an earlier revision. */
export function endAccess(tx: Transaction, id: Uuid): void {
  tx.enqueue(deleteSignInsOf, id);
  tx.enqueue(incrementAuthRevision, tx.tenantId);
}

/** People change others, not themselves: an ADMIN could otherwise leave a tenant without one by mistake. */
function requireOther({ principal }: Caller, id: Uuid): void {
  if (principal.kind !== "person" || principal.memberId !== id) return;
  throw new Fault("unprocessable", "People cannot change or remove themselves. Ask another OWNER or ADMIN.");
}

function ownerStays(whatCannotBe: string): Fault {
  return new Fault("unprocessable", `The owner of a tenant cannot be ${whatCannotBe}.`);
}

function memberOf(keys: TenantKeys, tenantId: TenantId, row: MemberRow): Member {
  if (!isRole(row.role)) throw new Error("a member of unknown role is stored");
  return {
    id: row.id,
    userId: row.user_id,
    role: row.role,
    profile: openProfile(keys, tenantId, row.id, row.profile),
    createdBy: row.created_by,
    createdAt: row.created_at,
    modifiedBy: row.modified_by,
    modifiedAt: row.modified_at,
  };
}
