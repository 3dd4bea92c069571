import { createHash } from "node:crypto";
import { type Caller, callingPerson } from "../access/caller.js";
import { callerTransaction, type OrdinaryCallerTransaction } from "../access/caller-transaction.js";
import type { TenantTransaction } from "../audit/tenant-transaction.js";
import { DAY_MS } from "../base/clock.js";
import { Fault, invalid } from "../base/fault.js";
import { newUuid, type Uuid } from "../base/ids.js";
import { scheduleDue } from "../store/jobs/due.js";
import { insertMessage } from "../store/jobs/outbox.js";
import { lockMember, type MemberRow, readMember } from "../store/people/members.js";
import { insertPasskey } from "../store/people/passkeys.js";
import { deleteOtherSignIns, readSignIn, type SignInRow } from "../store/people/sign-ins.js";
import { incrementAuthRevision } from "../store/tenancy/tenants.js";
import type { Transaction } from "../store/transactions/transaction.js";
import { openProfile, openSealedRights } from "../tenancy/profile.js";
import { listTenantPasskeys } from "./confirm-passkey.js";
import { readRegistration } from "./credential-text.js";
import { type Credential, counts, listMemberPasskeys, type Passkey, passkeyRecord, sealRights } from "./passkey.js";
import { consumeChallenge, issueChallenge, type Purpose } from "./passkey-challenge.js";
import type { PasskeyParts, ShownChallenge } from "./passkey-parts.js";
import { requireWithinLimit } from "./refuse-frequent-sign-ins.js";
import { chooseRelyingParty } from "./relying-party.js";
import { requireJustSignedIn, stepUp } from "./sign-in.js";
import { registrationOptions, verifyRegistration } from "./webauthn.js";

/** A person has a few devices and keys. */
const LIMIT = 10;
/**
 * How long a passkey that was added without a second factor waits before it counts as one, unless the OWNER confirms it: an
 * attacker who reads a member's mail could have added it.
 */
const WAIT_MS = DAY_MS;

/**
 * @throws {Fault} second_factor_required unless one of the others was just proved; unprocessable while none counts,
 * unless the person has just signed in with a browser, and above 10 passkeys; rate_limited.
 */
export async function beginPasskeyRegistration(parts: PasskeyParts, caller: Caller): Promise<ShownChallenge> {
  const relyingParty = chooseRelyingParty(parts.address());
  const { memberId, signInId, userId } = callingPerson(caller);
  await requireWithinLimit(parts.limits, { kind: "passkey", signInId });
  const tenant = await parts.tenants.as(caller);
  return tenant.ordinary(async (tx) => {
    const passkeys = await listMemberPasskeys(tx, memberId);
    requireMayAdd(caller, await tx.query(readSignIn, signInId), passkeys, tx.now);
    const member = await tx.query(readMember, memberId);
    const email = (member && openProfile(tx.keys, member).email) ?? userId;
    const { id: challengeId, challenge } = issueChallenge(tx, purposeOf(caller));
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
  { tenants, address }: PasskeyParts,
  caller: Caller,
  challengeId: Uuid,
  { text, name }: { readonly text: string; readonly name: string },
): Promise<Passkey> {
  const response = readRegistration(text);
  const relyingParty = chooseRelyingParty(address());
  const tenant = await tenants.as(caller);
  const challenge = await tenant.ordinary((tx) => consumeChallenge(tx, challengeId, purposeOf(caller)));
  const credential = challenge && (await verifyRegistration(relyingParty, challenge, response));
  if (!credential)
    throw invalid("credential", "must be the browser's response to this challenge. Add the passkey again");
  // Not under the caller's revision, as in a check: a change of anybody's rights would use the challenge up.
  const own = await tenants.of(caller.tenantId);
  return own.ordinary((tx) => addPasskey(callerTransaction(tx, tx.keys, caller), { credential, name }));
}

async function addPasskey(
  tx: OrdinaryCallerTransaction,
  { credential, name }: Pick<Passkey, "credential" | "name">,
): Promise<Passkey> {
  const { memberId, signInId } = callingPerson(tx.caller);
  const member = await lockMember(tx, memberId);
  const signIn = await tx.query(readSignIn, signInId);
  const earlier = await listMemberPasskeys(tx, memberId);
  requireMayAdd(tx.caller, signIn, earlier, tx.now);
  if (!member || !signIn) throw new Fault("unauthenticated", "The sign-in has ended. Sign in again.");
  const columns = { id: newUuid(), member_id: memberId, credential_hash: credentialHash(credential) };
  const isTrusted = callingPerson(tx.caller).secondFactorUntil || (await isVouchedFor(tx, member, signIn));
  const countsFrom = isTrusted ? undefined : new Date(tx.now.getTime() + WAIT_MS);
  const details = passkeyRecord.seal(tx.keys, columns, { credential, name, countsFrom });
  if (!(await tx.query(insertPasskey, { ...columns, details, last_used_at: null }))) {
    throw new Fault("already_exists", "This passkey was added already.");
  }
  if (earlier.length === 0) {
    const changes = sealRights(tx, member, { needsPasskey: true, hadPasskey: true });
    tx.log("member", memberId, "update", { remark: "first passkey", changes });
    tx.enqueue(deleteOtherSignIns, { id: signInId, member_id: memberId });
    tx.enqueue(incrementAuthRevision, tx.tenantId);
  }
  if (countsFrom) tellOwner(tx, columns.id);
  else stepUp(tx, signIn);
  const remark = countsFrom ? "waits to be confirmed" : undefined;
  tx.log("passkey", columns.id, "create", { remark });
  return { id: columns.id, memberId, name, credential, countsFrom, createdAt: tx.now, lastUsedAt: null };
}

/**
 * Whether the OWNER's passkey counts at once: after the operator's link, or in a new tenant until a passkey
 * counts in it. No other person could confirm the OWNER's first one.
 */
async function isVouchedFor(
  tx: TenantTransaction,
  member: MemberRow,
  { method }: Pick<SignInRow, "method">,
): Promise<boolean> {
  if (member.role !== "OWNER") return false;
  if (method === "operator") return true;
  if (openSealedRights(tx.keys, member).hadPasskey) return false;
  return !(await listTenantPasskeys(tx)).some((passkey) => counts(passkey));
}

function tellOwner(tx: Transaction, passkeyId: Uuid): void {
  tx.enqueue(insertMessage, { id: newUuid(), passkey_id: passkeyId });
  scheduleDue(tx, { kind: "mail", at: tx.now });
}

function requireMayAdd(caller: Caller, signIn: SignInRow | null, earlier: readonly Passkey[], now: Date): void {
  if (earlier.length >= LIMIT) throw new Fault("unprocessable", `You have ${LIMIT} passkeys. Remove one first.`);
  if (earlier.length > 0 && callingPerson(caller).secondFactorUntil) return;
  if (earlier.some((passkey) => counts(passkey))) {
    throw new Fault("second_factor_required", "Prove one of your passkeys before you add another.");
  }
  if (signIn?.method === "device") {
    throw new Fault("unprocessable", "Sign in with a browser to add your first passkey: a code can be another's.");
  }
  requireJustSignedIn(signIn, now, "add your first passkey");
}

function purposeOf(caller: Caller): Purpose {
  return { of: "registration", subject: callingPerson(caller).signInId };
}

function credentialHash({ credentialId }: Credential): Buffer {
  return createHash("sha256").update(credentialId).digest();
}
