import type { AuthenticationResponseJSON } from "@simplewebauthn/server";
import type { Actor } from "../audit/actor.js";
import type { AuditContext } from "../audit/audit-context.js";
import { logEntry } from "../audit/log-entry.js";
import type { OrdinaryTenantTransaction } from "../audit/tenant-transaction.js";
import { Fault } from "../base/fault.js";
import type { Uuid } from "../base/ids.js";
import { lockMember, type MemberRow } from "../store/people/members.js";
import { listPasskeyRows, updatePasskey } from "../store/people/passkeys.js";
import { counts, openPasskey, passkeyRecord } from "./passkey.js";
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

/** The member of an accepted proof. */
export interface Proved {
  readonly member: MemberRow;
  /** Whether the proof counts as a second factor: that of a passkey that waits to be confirmed does not. */
  readonly counts: boolean;
}

/**
 * Checks a proof by one of a member's passkeys, and keeps its counter. The member stays locked: of two proofs at once the
 * second meets the counter of the first. Undefined, with a log row: refused.
 */
export async function acceptProof(
  tx: OrdinaryTenantTransaction,
  { relyingParty, challenge, credential, memberId, signInId }: Proof,
  context: AuditContext,
): Promise<Proved | undefined> {
  const member = await lockMember(tx, memberId);
  if (!member) return undefined;
  const actor: Actor = { id: member.user_id, type: "user", keyId: signInId, context };
  const rows = await tx.query(listPasskeyRows, memberId);
  const passkeys = rows.map((row) => openPasskey(tx.keys, tx, row));
  const known = passkeys.map((passkey) => passkey.credential);
  const proved = await verifyAuthentication(relyingParty, challenge, credential, known);
  if (typeof proved === "string") {
    const refusal = { actor, remark: proved, outcome: "denied", code: "permission_denied" } as const;
    tx.record(logEntry("passkey", memberId, "refuse", refusal));
    return undefined;
  }
  const index = passkeys.findIndex((passkey) => passkey.credential.credentialId === proved.credentialId);
  const [row, passkey] = [rows[index], passkeys[index]];
  if (!row || !passkey) return undefined;
  const details = passkeyRecord.seal(tx.keys, row, { ...passkey, credential: proved });
  tx.enqueue(updatePasskey, { id: row.id, details, last_used_at: tx.now });
  tx.record(logEntry("passkey", row.id, "use", { actor }));
  return { member, counts: counts(passkey) };
}

/** Says neither which part of a proof is wrong nor whether there is such a passkey; the log does. */
export function refusedProof(): Fault {
  return new Fault("permission_denied", "The passkey was not accepted. Try again with a passkey that you added here.");
}
