import { actorOf, type Caller, personOf } from "../access/caller.js";
import { ANY_ENTITY_ID, logEntry } from "../audit/log-entry.js";
import { Fault, notFound } from "../base/fault.js";
import type { Uuid } from "../base/ids.js";
import type { TenantKeys } from "../crypto/tenant-keys.js";
import { writeLog } from "../store/audit/audit-logs.js";
import { lockMember, readMember } from "../store/people/members.js";
import { listPasskeyRows, updatePasskey } from "../store/people/passkeys.js";
import type { OrdinaryTransaction, Transaction } from "../store/transactions/transaction.js";
import { listMemberPasskeys, openPasskey, type Passkey, resetPasskeys, sealPasskey } from "./passkey.js";
import { requireAdministrator } from "./sign-ins.js";

/**
 * The passkeys of a member, oldest first.
 * @throws {Fault} permission_denied for those of others, unless the caller is OWNER or ADMIN.
 */
export async function listPasskeys(
  tx: Transaction,
  caller: Caller,
  keys: TenantKeys,
  memberId: Uuid,
): Promise<readonly Passkey[]> {
  const own = personOf(caller);
  if (memberId !== own.memberId) {
    requireAdministrator(own, "see the passkeys of others");
    if (!(await tx.query(readMember, memberId))) throw notFound("member");
  }
  writeLog(tx, logEntry(actorOf(caller), "passkey", ANY_ENTITY_ID, "list"));
  return listMemberPasskeys(tx, keys, memberId);
}

/** Renames one of the caller's own passkeys. @throws {Fault} not_found for those of others. */
export async function renamePasskey(
  tx: OrdinaryTransaction,
  caller: Caller,
  keys: TenantKeys,
  id: Uuid,
  name: string,
): Promise<Passkey> {
  const { memberId } = personOf(caller);
  // A proof at the same time writes the same row, with the counter.
  await lockMember(tx, memberId);
  const row = (await tx.query(listPasskeyRows, memberId)).find((found) => found.id === id);
  if (!row) throw notFound("passkey");
  const renamed = { ...openPasskey(keys, tx.tenantId, row), name };
  const details = sealPasskey(keys, tx.tenantId, row, renamed);
  tx.enqueue(updatePasskey, { id, details, last_used_at: row.last_used_at });
  writeLog(tx, logEntry(actorOf(caller), "passkey", id, "update"));
  return renamed;
}

/**
 * Removes all passkeys of another member, and ends that member's sign-ins.
 * @throws {Fault} unprocessable for one's own; permission_denied for the OWNER's.
 */
export async function resetPasskeysOf(
  tx: OrdinaryTransaction,
  caller: Caller,
  keys: TenantKeys,
  memberId: Uuid,
): Promise<void> {
  if (memberId === personOf(caller).memberId) {
    throw new Fault("unprocessable", "Remove your own passkeys one by one, under Your sign-ins.");
  }
  const member = await tx.query(readMember, memberId);
  if (!member) throw notFound("member");
  if (member.role === "OWNER") {
    throw new Fault("permission_denied", "Only the operator of this server resets the passkeys of the OWNER.");
  }
  await resetPasskeys(tx, keys, actorOf(caller), memberId);
}
