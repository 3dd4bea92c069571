import { createHash } from "node:crypto";
import { actorOf, type Caller, personOf } from "../access/caller.js";
import { logEntry } from "../audit/log-entry.js";
import { Fault, invalid } from "../base/fault.js";
import { newUuid, type Uuid } from "../base/ids.js";
import type { TenantKeys } from "../crypto/tenant-keys.js";
import { writeLog } from "../store/audit/audit-logs.js";
import { lockMember, readMember } from "../store/people/members.js";
import { insertPasskey } from "../store/people/passkeys.js";
import { deleteOtherSignIns, readSignIn, type SignInRow } from "../store/people/sign-ins.js";
import { incrementAuthRevision } from "../store/tenancy/tenants.js";
import type { OrdinaryTransaction } from "../store/transactions/transaction.js";
import { openProfile } from "../tenancy/profile.js";
import { readRegistration } from "./credential-text.js";
import { type Credential, listMemberPasskeys, type Passkey, requirePasskey, sealPasskey } from "./passkey.js";
import { consumeChallenge, issueChallenge, type Purpose } from "./passkey-challenge.js";
import type { PasskeyParts, ShownChallenge } from "./passkey-parts.js";
import { relyingPartyOf } from "./relying-party.js";
import { signedInAt, stepUp } from "./sign-in.js";
import { requireWithinLimit } from "./sign-in-limit.js";
import { registrationOptions, verifyRegistration } from "./webauthn.js";

/** A person has a few devices and keys. */
const MOST = 10;
/** The first passkey locks others out of the account, so a cookie that was stolen earlier must not suffice. */
const FRESH_MS = 10 * 60_000;

/**
 * Asks for a new passkey.
 * @throws {Fault} second_factor_required unless one of the others was just proved; unprocessable for the first, unless the
 *   person has just signed in, and above 10 passkeys; rate_limited.
 */
export async function beginPasskeyRegistration(parts: PasskeyParts, caller: Caller): Promise<ShownChallenge> {
  const relyingParty = relyingPartyOf(parts.address());
  const { memberId, signInId, userId } = personOf(caller);
  await requireWithinLimit(parts.limits, { kind: "passkey", signInId });
  const keys = await parts.keyring.of(caller.tenantId);
  return parts.database.ordinary.run(caller.tenantId, caller.revision, async (tx) => {
    const passkeys = await listMemberPasskeys(tx, keys, memberId);
    requireMayAdd(caller, await tx.query(readSignIn, signInId), passkeys.length, tx.now);
    const member = await tx.query(readMember, memberId);
    const email = (member && openProfile(keys, tx.tenantId, memberId, member.profile).email) ?? userId;
    const { id: challengeId, challenge } = issueChallenge(tx, keys, purposeOf(caller));
    const known = passkeys.map(({ credential }) => credential);
    const options = await registrationOptions(relyingParty, { memberId, email }, challenge, known);
    return { challengeId, options: JSON.stringify(options) };
  });
}

/**
 * Adds a passkey. The first one ends the person's other sign-ins, which proved no second factor.
 * @throws {Fault} validation_failed if the browser's response is refused; else as for the beginning.
 */
export async function finishPasskeyRegistration(
  { database, keyring, address }: PasskeyParts,
  caller: Caller,
  challengeId: Uuid,
  { text, name }: { readonly text: string; readonly name: string },
): Promise<Passkey> {
  const response = readRegistration(text);
  const relyingParty = relyingPartyOf(address());
  const { tenantId, revision } = caller;
  const keys = await keyring.of(tenantId);
  const challenge = await database.ordinary.run(tenantId, revision, (tx) =>
    consumeChallenge(tx, keys, challengeId, purposeOf(caller)),
  );
  const credential = challenge && (await verifyRegistration(relyingParty, challenge, response));
  if (!credential)
    throw invalid("credential", "must be the browser's response to this challenge. Add the passkey again");
  return database.ordinary.run(tenantId, revision, (tx) => addPasskey(tx, keys, caller, { credential, name }));
}

async function addPasskey(
  tx: OrdinaryTransaction,
  keys: TenantKeys,
  caller: Caller,
  { credential, name }: Pick<Passkey, "credential" | "name">,
): Promise<Passkey> {
  const { memberId, signInId } = personOf(caller);
  const member = await lockMember(tx, memberId);
  const signIn = await tx.query(readSignIn, signInId);
  const { length } = await listMemberPasskeys(tx, keys, memberId);
  requireMayAdd(caller, signIn, length, tx.now);
  if (!member || !signIn) throw new Fault("unauthenticated", "The sign-in has ended. Sign in again.");
  const columns = { id: newUuid(), member_id: memberId, credential_hash: hashOf(credential) };
  const details = sealPasskey(keys, tx.tenantId, columns, { credential, name });
  if (!(await tx.query(insertPasskey, { ...columns, details, last_used_at: null }))) {
    throw new Fault("already_exists", "This passkey was added already.");
  }
  if (length === 0) {
    requirePasskey(tx, keys, member, true);
    tx.enqueue(deleteOtherSignIns, { id: signInId, member_id: memberId });
    tx.enqueue(incrementAuthRevision, tx.tenantId);
  }
  stepUp(tx, keys, signIn);
  writeLog(tx, logEntry(actorOf(caller), "passkey", columns.id, "create"));
  return { ...{ id: columns.id, memberId, name, credential }, createdAt: tx.now, lastUsedAt: null };
}

function requireMayAdd(caller: Caller, signIn: SignInRow | null, count: number, now: Date): void {
  if (count >= MOST) throw new Fault("unprocessable", `You have ${MOST} passkeys. Remove one first.`);
  if (count > 0 && !personOf(caller).secondFactorUntil) {
    throw new Fault("second_factor_required", "Prove one of your passkeys before you add another.");
  }
  if (count === 0 && (!signIn || now.getTime() - signedInAt(signIn).getTime() > FRESH_MS)) {
    throw new Fault("unprocessable", "Sign in again, and add your first passkey within 10 minutes.");
  }
}

function purposeOf(caller: Caller): Purpose {
  return { of: "registration", subject: personOf(caller).signInId };
}

function hashOf({ credentialId }: Credential): Buffer {
  return createHash("sha256").update(credentialId).digest();
}
