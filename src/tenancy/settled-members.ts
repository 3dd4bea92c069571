import { callingPerson } from "../access/caller.js";
import type { CallerTransaction } from "../access/caller-transaction.js";
import { isAdministrator, isRole } from "../access/role.js";
import { hasSettled, SettledMember } from "../access/settled-member.js";
import type { TenantTransaction } from "../audit/tenant-transaction.js";
import { notFound } from "../base/fault.js";
import type { Uuid } from "../base/ids.js";
import type { TenantKeys } from "../crypto/tenant-keys.js";
import { findMemberOfUser, listAdministrators, type MemberRow, readMember } from "../store/people/members.js";
import { openSealedRights, requireSealedRole } from "./profile.js";

/**
 * The caller as one of two people who must agree.
 * @throws {Fault} permission_denied for a key, and for a membership that is new or was changed in the last 24 hours.
 */
export async function settledCaller(tx: CallerTransaction): Promise<SettledMember> {
  const { memberId, userId } = callingPerson(tx.caller);
  const row = await tx.query(readMember, memberId);
  if (!row) throw notFound("member");
  return SettledMember.require(userId, lastChange(tx.keys, row), tx.now);
}

/**
 * Whether the word of a person, given at a time, still counts: the person is OWNER or ADMIN, and neither the role nor the
 * passkeys were changed since, as they are when another had given that word.
 */
export async function isStillInOffice(tx: TenantTransaction, userId: Uuid, wordAt: Date): Promise<boolean> {
  const row = await tx.query(findMemberOfUser, userId);
  return row !== null && isRole(row.role) && isAdministrator(row.role) && lastChange(tx.keys, row) < wordAt;
}

/** Whether an OWNER or ADMIN other than the caller could agree with the caller now. */
export async function hasSecondPerson(tx: CallerTransaction): Promise<boolean> {
  const { memberId } = callingPerson(tx.caller);
  const rows = await tx.query(listAdministrators, "all");
  return rows.some((row) => row.id !== memberId && hasSettled(lastChange(tx.keys, row), tx.now));
}

/** Sealed, as the columns of a row are not. 1970 for the OWNER of a new tenant, who is there from its beginning. */
function lastChange(keys: TenantKeys, row: MemberRow): Date {
  requireSealedRole(keys, row);
  return new Date(openSealedRights(keys, row).revision);
}
