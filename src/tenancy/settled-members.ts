import { callingPerson } from "../access/caller.js";
import type { CallerTransaction } from "../access/caller-transaction.js";
import { hasSettled, SettledMember } from "../access/settled-member.js";
import { notFound } from "../base/fault.js";
import type { TenantKeys } from "../crypto/tenant-keys.js";
import { listAdministrators, type MemberRow, readMember } from "../store/people/members.js";
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
