import type { AuthenticationResponseJSON } from "@simplewebauthn/server";
import type { Actor } from "../audit/actor.js";
import type { AuditContext } from "../audit/audit-context.js";
import { logEntry } from "../audit/log-entry.js";
import { Fault } from "../base/fault.js";
import type { Uuid } from "../base/ids.js";
import type { TenantKeys } from "../crypto/tenant-keys.js";
import { writeLog } from "../store/audit/audit-logs.js";
import { lockMember, type MemberRow } from "../store/people/members.js";
import { listPasskeyRows, updatePasskey } from "../store/people/passkeys.js";
import type { OrdinaryTransaction } from "../store/transactions/transaction.js";
import { openPasskey, sealPasskey } from "./passkey.js";
import type { RelyingParty } from "./relying-party.js";
import { verifyAuthentication } from "./webauthn.js";

/** A browser's response to a challenge that was just used up. */
export interface Proof {
  readonly relyingParty: RelyingParty;
  readonly challenge: string;
  readonly credential: AuthenticationResponseJSON;
  readonly memberId: Uuid;
  /** The sign-in that asks for it again. Absent while signing in. */
  readonly signInId?: Uuid;
}

/**
 * Checks a proof by one of a member's passkeys, and keeps its counter. The member stays locked: of two proofs at once the
 * second meets the counter of the first. Undefined, with a log row: refused.
 */
export async function acceptProof(
  tx: OrdinaryTransaction,
  keys: TenantKeys,
  { relyingParty, challenge, credential, memberId, signInId }: Proof,
  context: AuditContext,
): Promise<MemberRow | undefined> {
  const member = await lockMember(tx, memberId);
  if (!member) return undefined;
  const actor: Actor = { id: member.user_id, type: "user", keyId: signInId, context };
  const rows = await tx.query(listPasskeyRows, memberId);
  const passkeys = rows.map((row) => openPasskey(keys, tx.tenantId, row));
  const known = passkeys.map((passkey) => passkey.credential);
  const proved = await verifyAuthentication(relyingParty, challenge, credential, known);
  if (typeof proved === "string") {
    const refusal = { remark: proved, outcome: "denied", code: "permission_denied" } as const;
    writeLog(tx, logEntry(actor, "passkey", memberId, "refuse", refusal));
    return undefined;
  }
  const index = passkeys.findIndex((passkey) => passkey.credential.credentialId === proved.credentialId);
  const [row, passkey] = [rows[index], passkeys[index]];
  if (!row || !passkey) return undefined;
  const details = sealPasskey(keys, tx.tenantId, row, { name: passkey.name, credential: proved });
  tx.enqueue(updatePasskey, { id: row.id, details, last_used_at: tx.now });
  writeLog(tx, logEntry(actor, "passkey", row.id, "use"));
  return member;
}

/** Says neither which part of a proof is wrong nor whether there is such a passkey; the log does. */
export function refusedProof(): Fault {
  return new Fault("permission_denied", "The passkey was not accepted. Try again with a passkey that you added here.");
}
