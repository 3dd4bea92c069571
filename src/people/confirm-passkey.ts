import { callingPerson } from "../access/caller.js";
import type { CallerTransaction, OrdinaryCallerTransaction } from "../access/caller-transaction.js";
import { requirePower } from "../access/power.js";
import { ANY_ENTITY_ID } from "../audit/log-entry.js";
import type { OrdinaryTenantTransaction, TenantTransaction } from "../audit/tenant-transaction.js";
import { notFound } from "../base/fault.js";
import type { Uuid } from "../base/ids.js";
import { lockMember } from "../store/people/members.js";
import { listAllPasskeyRows, listPasskeyRows, readPasskeyRow, updatePasskey } from "../store/people/passkeys.js";
import { counts, openPasskey, type Passkey, passkeyRecord } from "./passkey.js";
import { requireAdministrator } from "./sign-ins.js";

/** The passkeys of all members, oldest first. */
export async function listTenantPasskeys(tx: TenantTransaction): Promise<readonly Passkey[]> {
  const rows = await tx.query(listAllPasskeyRows, "all");
  return rows.map((row) => openPasskey(tx.keys, tx, row));
}

/**
 * The passkeys of all members that do not count as a second factor yet, oldest first.
 * @throws {Fault} permission_denied unless the caller is OWNER or ADMIN.
 */
export async function listWaitingPasskeys(tx: CallerTransaction): Promise<readonly Passkey[]> {
  requireAdministrator(callingPerson(tx.caller), "see the passkeys of others");
  tx.log("passkey", ANY_ENTITY_ID, "list");
  return (await listTenantPasskeys(tx)).filter((passkey) => !counts(passkey));
}

/**
 * Confirms that a passkey is its member's: from now on a proof by it counts as a second factor.
 * @throws {Fault} second_factor_required or permission_denied unless the caller is the OWNER with a second factor.
 */
export async function confirmPasskeyAs(tx: OrdinaryCallerTransaction, id: Uuid): Promise<Passkey> {
  requirePower(tx.caller, { needs: ["own"], doing: "Confirming a passkey", act: "confirm passkeys" });
  return confirmPasskey(tx, id);
}

/** The same for whom no role limits. Confirming a passkey that counts already changes nothing. */
export async function confirmPasskey(tx: OrdinaryTenantTransaction, id: Uuid): Promise<Passkey> {
  const found = await tx.query(readPasskeyRow, id);
  if (!found) throw notFound("passkey");
  // A proof at the same time writes the same row, with the counter.
  await lockMember(tx, found.member_id);
  const row = (await tx.query(listPasskeyRows, found.member_id)).find((one) => one.id === id);
  if (!row) throw notFound("passkey");
  const confirmed = { ...openPasskey(tx.keys, tx, row), countsFrom: undefined };
  const details = passkeyRecord.seal(tx.keys, row, confirmed);
  tx.enqueue(updatePasskey, { id, details, last_used_at: row.last_used_at });
  tx.log("passkey", id, "confirm");
  return confirmed;
}
