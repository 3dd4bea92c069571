import { callingPerson } from "../access/caller.js";
import type { CallerTransaction, OrdinaryCallerTransaction } from "../access/caller-transaction.js";
import { requireMayTakeRole } from "../access/given-role.js";
import { isRole } from "../access/role.js";
import { secondFactorRequired } from "../access/second-factor.js";
import { ANY_ENTITY_ID } from "../audit/log-entry.js";
import { Fault, notFound } from "../base/fault.js";
import type { Uuid } from "../base/ids.js";
import { lockMember, readMember } from "../store/people/members.js";
import { deletePasskeyRow, listPasskeyRows, updatePasskey } from "../store/people/passkeys.js";
import { readSignIn } from "../store/people/sign-ins.js";
import {
  counts,
  listMemberPasskeys,
  openPasskey,
  type Passkey,
  passkeyRecord,
  resetPasskeys,
  sealRights,
} from "./passkey.js";
import { requireJustSignedIn } from "./sign-in.js";
import { requireAdministrator } from "./sign-ins.js";

/**
 * The passkeys of a member, oldest first.
 * @throws {Fault} permission_denied for those of others, unless the caller is OWNER or ADMIN.
 */
export async function listPasskeys(tx: CallerTransaction, memberId: Uuid): Promise<readonly Passkey[]> {
  const own = callingPerson(tx.caller);
  if (memberId !== own.memberId) {
    requireAdministrator(own, "see the passkeys of others");
    if (!(await tx.query(readMember, memberId))) throw notFound("member");
  }
  tx.log("passkey", ANY_ENTITY_ID, "list");
  return listMemberPasskeys(tx, memberId);
}

/** Renames one of the caller's own passkeys. @throws {Fault} not_found for those of others. */
export async function renamePasskey(tx: OrdinaryCallerTransaction, id: Uuid, name: string): Promise<Passkey> {
  const { memberId } = callingPerson(tx.caller);
  // A proof at the same time writes the same row, with the counter.
  await lockMember(tx, memberId);
  const row = (await tx.query(listPasskeyRows, memberId)).find((found) => found.id === id);
  if (!row) throw notFound("passkey");
  const renamed = { ...openPasskey(tx.keys, tx, row), name };
  const details = passkeyRecord.seal(tx.keys, row, renamed);
  tx.enqueue(updatePasskey, { id, details, last_used_at: row.last_used_at });
  tx.log("passkey", id, "update");
  return renamed;
}

/**
 * Removes one of the caller's own passkeys. After the last one, sign-ins need none. While no passkey counts there is no second
 * factor to prove: another one that waits goes on protecting the account, and removing the only one opens the account to
 * who can sign in without it, so it asks for what adding the first one asked for.
 * @throws {Fault} not_found for those of others; second_factor_required once one of the passkeys counts; unprocessable for
 *   the only one, unless the person has just signed in.
 */
export async function deletePasskey(tx: OrdinaryCallerTransaction, id: Uuid): Promise<void> {
  const { memberId, signInId, secondFactorUntil } = callingPerson(tx.caller);
  const member = await lockMember(tx, memberId);
  const passkeys = await listMemberPasskeys(tx, memberId);
  if (!member || !passkeys.some((passkey) => passkey.id === id)) throw notFound("passkey");
  const isLast = passkeys.length === 1;
  if (!secondFactorUntil) {
    if (passkeys.some((passkey) => counts(passkey))) throw secondFactorRequired("Removing a passkey");
    if (isLast) requireJustSignedIn(await tx.query(readSignIn, signInId), tx.now, "remove your only passkey");
  }
  tx.enqueue(deletePasskeyRow, id);
  if (isLast) {
    const changes = sealRights(tx, member, { needsPasskey: false });
    tx.log("member", memberId, "update", { remark: "last passkey removed", changes });
  }
  tx.log("passkey", id, "delete");
}

/**
 * Removes all passkeys of another member, and ends that member's sign-ins.
 * @throws {Fault} unprocessable for one's own; permission_denied for the OWNER's.
 */
export async function resetMemberPasskeys(tx: OrdinaryCallerTransaction, memberId: Uuid): Promise<void> {
  if (memberId === callingPerson(tx.caller).memberId) {
    throw new Fault("unprocessable", "Remove your own passkeys one by one, under Your sign-ins.");
  }
  const member = await tx.query(readMember, memberId);
  if (!member) throw notFound("member");
  if (!isRole(member.role) || member.role === "OWNER") {
    throw new Fault("permission_denied", "Only the operator of this server resets the passkeys of the OWNER.");
  }
  requireMayTakeRole(tx.caller, member.role, "Removing the passkeys of");
  await resetPasskeys(tx, memberId);
}
