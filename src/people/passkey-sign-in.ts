import { type PresentedSecret, parseSecret } from "../access/secret-text.js";
import type { TenantTransaction } from "../audit/tenant-transaction.js";
import { Fault } from "../base/fault.js";
import { parseUuid, type Uuid } from "../base/ids.js";
import type { JsonObject } from "../base/json.js";
import { consumeSignInRequest, readSignInRequest } from "../store/people/sign-in-requests.js";
import { readAuthentication } from "./credential-text.js";
import { listMemberPasskeys } from "./passkey.js";
import { consumeChallenge, issueChallenge, type Purpose } from "./passkey-challenge.js";
import type { PasskeyParts, ShownChallenge } from "./passkey-parts.js";
import { acceptProof, refusedProof } from "./passkey-proof.js";
import { requireWithinLimit } from "./refuse-frequent-sign-ins.js";
import { chooseRelyingParty } from "./relying-party.js";
import { type FirstFactor, identityIn, METHODS, type StartedSignIn, startSignIn } from "./sign-in.js";
import type { LinkParts } from "./sign-in-link.js";
import { openDetails } from "./sign-in-request.js";
import type { Visit } from "./visit.js";
import { authenticationOptions } from "./webauthn.js";

/**
 * Issues a challenge for the sign-in that waits in this browser.
 * @throws {Fault} permission_denied if none waits; rate_limited.
 */
export async function beginPasskeySignIn(parts: PasskeyParts, visit: Visit): Promise<ShownChallenge> {
  const waiting = waitingIn(visit);
  await requireWithinLimit(parts.limits, { kind: "passkey", signInId: waiting.id });
  const relyingParty = chooseRelyingParty(parts.address());
  const tenant = await parts.tenants.find(waiting.tenantId);
  if (!tenant) throw noPendingSignIn();
  return tenant.ordinary(async (tx) => {
    const { memberId } = await readWaiting(tx, waiting);
    const passkeys = await listMemberPasskeys(tx, memberId);
    const { id: challengeId, challenge } = issueChallenge(tx, purposeOf(waiting));
    const known = passkeys.map(({ credential }) => credential);
    const options = await authenticationOptions(relyingParty, challenge, known);
    return { challengeId, options: JSON.stringify(options) };
  });
}

/**
 * Completes the sign-in that waits in this browser. A refused proof uses its challenge up, not the sign-in.
 * @throws {Fault} permission_denied if the proof is refused, or no sign-in waits; validation_failed for a malformed one.
 */
export async function finishPasskeySignIn(
  { tenants, address }: PasskeyParts,
  challengeId: Uuid,
  text: string,
  visit: Visit,
): Promise<StartedSignIn> {
  const credential = readAuthentication(text);
  const relyingParty = chooseRelyingParty(address());
  const waiting = waitingIn(visit);
  const tenant = await tenants.find(waiting.tenantId);
  if (!tenant) throw noPendingSignIn();
  // Committed before the proof is looked at: no proof is tried twice.
  const challenge = await tenant.ordinary(async (tx) => {
    await readWaiting(tx, waiting);
    return consumeChallenge(tx, challengeId, purposeOf(waiting));
  });
  if (challenge === undefined) throw refusedProof();
  const started = await tenant.ordinary(async (tx) => {
    const { memberId, factor } = await readWaiting(tx, waiting);
    const proof = { relyingParty, challenge, credential, memberId };
    const proved = await acceptProof(tx, proof, visit.context);
    if (!proved || !(await tx.query(consumeSignInRequest, waiting.id))) return undefined;
    const secondFactorAt = proved.counts ? tx.now : undefined;
    return startSignIn(tx, proved.member, { ...factor, secondFactorAt }, visit);
  });
  if (!started) throw refusedProof();
  return started;
}

/** Whether a sign-in waits for a passkey in this browser. */
export async function isPasskeyAwaited({ tenants }: LinkParts, visit: Visit): Promise<boolean> {
  const waiting = parseSecret("pky", visit.cookie("passkey") ?? "");
  if (!waiting) return false;
  try {
    const tenant = await tenants.find(waiting.tenantId);
    if (!tenant) return false;
    await tenant.ordinary((tx) => readWaiting(tx, waiting));
    return true;
  } catch (error) {
    if (error instanceof Fault && error.code === "permission_denied") return false;
    throw error;
  }
}

interface Waiting {
  readonly memberId: Uuid;
  readonly factor: FirstFactor;
}

function purposeOf({ id }: PresentedSecret): Purpose {
  return { of: "sign_in", subject: id };
}

function waitingIn(visit: Visit): PresentedSecret {
  const waiting = parseSecret("pky", visit.cookie("passkey") ?? "");
  if (!waiting) throw noPendingSignIn();
  return waiting;
}

async function readWaiting(tx: TenantTransaction, { id, hash }: PresentedSecret): Promise<Waiting> {
  const row = await tx.query(readSignInRequest, id);
  if (row?.method !== "passkey" || !row.browser_hash?.equals(hash)) throw noPendingSignIn();
  return readWaitingDetails(openDetails(tx.keys, row));
}

function readWaitingDetails({ memberId: member, method: name, identity, until }: JsonObject): Waiting {
  const memberId = parseUuid(String(member));
  const method = METHODS.find((known) => known === name);
  if (!memberId || !method) throw new Error("a sign-in that waits for a passkey is malformed");
  const end = typeof until === "number" ? new Date(until) : undefined;
  return { memberId, factor: { method, identity: identityIn(identity), until: end } };
}

function noPendingSignIn(): Fault {
  return new Fault("permission_denied", "No sign-in waits for a passkey in this browser. Sign in again.");
}
