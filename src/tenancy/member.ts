import { withContainers } from "../access/assigned-containers.js";
import { type Authorship, changedAuthorship, readAuthorship } from "../access/authorship.js";
import { type Caller, loggedActor } from "../access/caller.js";
import type { CallerTransaction, OrdinaryCallerTransaction } from "../access/caller-transaction.js";
import type { ContainerPath } from "../access/container.js";
import { requireMayGiveRole, requireMayTakeRole } from "../access/given-role.js";
import { nextRevision } from "../access/revision.js";
import { isRole, type Role } from "../access/role.js";
import { changesBetween } from "../audit/log-changes.js";
import { ANY_ENTITY_ID } from "../audit/log-entry.js";
import { Fault, notFound } from "../base/fault.js";
import type { Uuid } from "../base/ids.js";
import type { Page } from "../base/page.js";
import type { TenantKeys } from "../crypto/tenant-keys.js";
import { deleteInvitationMessages } from "../store/jobs/outbox.js";
import { deleteInvitationsTo } from "../store/people/invitations.js";
import { deleteMemberBrowsers } from "../store/people/known-browsers.js";
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
import { deleteMemberPasskeys } from "../store/people/passkeys.js";
import { deleteMemberSignIns } from "../store/people/sign-ins.js";
import { incrementAuthRevision } from "../store/tenancy/tenants.js";
import type { Transaction } from "../store/transactions/transaction.js";
import { openProfile, openSealedRights, type Profile, requireSealedRole, sealProfile } from "./profile.js";
import { requireGivenRole } from "./role.js";

export interface Member extends Authorship {
  readonly id: Uuid;
  readonly userId: Uuid;
  readonly role: Role;
  /** Where a DEVELOPER may give applications more than token:create. */
  readonly containers: readonly ContainerPath[];
  readonly profile: Profile;
}

/** Newest first, with opened profiles. */
export async function listMembers(tx: CallerTransaction, listing: MemberListing): Promise<Page<Member>> {
  const { items, total } = await tx.query(listMemberRows, listing);
  tx.log("member", ANY_ENTITY_ID, "list");
  return { items: items.map((row) => memberOf(tx.keys, row)), total };
}

/** The single member that the tenant was created with. */
export async function getOwner(tx: CallerTransaction): Promise<Member> {
  const row = await tx.query(readOwner, "owner");
  if (!row) throw notFound("owner");
  tx.log("member", row.id, "read");
  return memberOf(tx.keys, row);
}

/**
 * The owner's role is fixed.
 * @throws {Denied} if the caller holds less than the former or the new role can ever hold.
 */
export async function updateMember(
  tx: OrdinaryCallerTransaction,
  id: Uuid,
  wanted: { readonly role: string; readonly containers: readonly string[] },
): Promise<Member> {
  const row = await lockMember(tx, id);
  if (!row) throw notFound("member");
  // What changes is found by the column, which the owner of the database could change, and sealed again.
  requireSealedRole(tx.keys, row);
  const actor = loggedActor(tx.caller);
  requireOther(tx.caller, id);
  const former = memberOf(tx.keys, row);
  const isOwner = former.role === "OWNER";
  const role = isOwner && wanted.role === "OWNER" ? wanted.role : requireGivenRole(wanted.role);
  if (isOwner && role !== "OWNER") throw ownerStays("given another role");
  const given = withContainers(role, wanted.containers);
  const changes = changesBetween(former, given);
  if (changes.length > 0) {
    requireMayTakeRole(tx.caller, former.role, "Changing");
    requireMayGiveRole(tx.caller, {
      role,
      containers: given.containers.filter((one) => !former.containers.includes(one)),
    });
  }
  const sealed = openSealedRights(tx.keys, row);
  // The time of the last change: from it a membership counts where two people must agree.
  const revision = changes.length > 0 ? nextRevision(sealed.revision, tx.now) : sealed.revision;
  const profile = sealProfile(tx.keys, row, former.profile, { ...sealed, ...given, revision });
  tx.enqueue(updateMemberRole, { id, role, profile, modified_by: actor.id });
  if (changes.length > 0) endAccess(tx, id);
  const logged = [...changes, ...changesBetween(sealed, { revision })];
  tx.log("member", id, "update", { changes: logged });
  return { ...former, ...given, ...changedAuthorship(tx) };
}

/**
 * Deletes a member with every invitation of its address, so the member cannot rejoin by an old link, and ends its
 * sign-ins.
 */
export async function deleteMember(tx: OrdinaryCallerTransaction, id: Uuid): Promise<void> {
  const row = await lockMember(tx, id);
  if (!row) throw notFound("member");
  requireOther(tx.caller, id);
  if (row.role === "OWNER") throw ownerStays("removed");
  if (isRole(row.role)) requireMayTakeRole(tx.caller, row.role, "Removing");
  tx.enqueue(deleteMemberRow, id);
  tx.enqueue(deleteMemberIdentities, id);
  tx.enqueue(deleteMemberPasskeys, id);
  tx.enqueue(deleteMemberBrowsers, id);
  endAccess(tx, id);
  for (const invitation of await tx.query(deleteInvitationsTo, row.email_term)) {
    tx.enqueue(deleteInvitationMessages, invitation.id);
    if (invitation.member_id === null) tx.log("invitation", invitation.id, "delete");
  }
  tx.log("member", id, "delete");
}

/** Ends a member's sign-ins. Requests under way fail, because they were authorized under an earlier revision. */
export function endAccess(tx: Transaction, id: Uuid): void {
  tx.enqueue(deleteMemberSignIns, id);
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

function memberOf(keys: TenantKeys, row: MemberRow): Member {
  if (!isRole(row.role)) throw new Error("a member of unknown role is stored");
  return {
    id: row.id,
    userId: row.user_id,
    role: row.role,
    containers: openSealedRights(keys, row).containers,
    profile: openProfile(keys, row),
    ...readAuthorship(row),
  };
}
