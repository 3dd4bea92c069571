import { type Caller, callingPerson } from "../access/caller.js";
import { markRecorded } from "../access/refusal.js";
import { Fault } from "../base/fault.js";
import type { Uuid } from "../base/ids.js";
import { readSignIn } from "../store/people/sign-ins.js";
import { readAuthentication } from "./credential-text.js";
import { counts, listMemberPasskeys, type Passkey } from "./passkey.js";
import { consumeChallenge, issueChallenge, type Purpose } from "./passkey-challenge.js";
import type { PasskeyParts, ShownChallenge } from "./passkey-parts.js";
import { acceptProof, refusedProof } from "./passkey-proof.js";
import { requireWithinLimit } from "./refuse-frequent-sign-ins.js";
import { chooseRelyingParty } from "./relying-party.js";
import { secondFactorUntil } from "./second-factor-time.js";
import { stepUp } from "./sign-in.js";
import { authenticationOptions } from "./webauthn.js";

/** @throws {Fault} unprocessable if the person has none that counts; rate_limited. */
export async function beginPasskeyCheck(parts: PasskeyParts, caller: Caller): Promise<ShownChallenge> {
  const relyingParty = chooseRelyingParty(parts.address());
  const { memberId, signInId } = callingPerson(caller);
  await requireWithinLimit(parts.limits, { kind: "passkey", signInId });
  const tenant = await parts.tenants.as(caller);
  return tenant.ordinary(async (tx) => {
    const all = await listMemberPasskeys(tx, memberId);
    const passkeys = all.filter((passkey) => counts(passkey));
    if (passkeys.length === 0) throw hasNone(all);
    const { id: challengeId, challenge } = issueChallenge(tx, purposeOf(caller));
    const known = passkeys.map(({ credential }) => credential);
    const options = await authenticationOptions(relyingParty, challenge, known);
    return { challengeId, options: JSON.stringify(options) };
  });
}

/**
 * Lets a sign-in do what needs a second factor, until the time that is returned.
 * @throws {Fault} permission_denied if the proof is refused; validation_failed for a malformed one.
 */
export async function finishPasskeyCheck(
  { tenants, address }: PasskeyParts,
  caller: Caller,
  challengeId: Uuid,
  text: string,
): Promise<Date> {
  const credential = readAuthentication(text);
  const relyingParty = chooseRelyingParty(address());
  const { memberId, signInId } = callingPerson(caller);
  const tenant = await tenants.as(caller);
  // Committed before the proof is looked at: no proof is tried twice.
  const challenge = await tenant.ordinary((tx) => consumeChallenge(tx, challengeId, purposeOf(caller)));
  if (challenge === undefined) throw refusedProof();
  // Not under the caller's revision: a change of anybody's rights since would refuse a proof whose challenge is used up. What
  // takes the person's own rights ends the sign-in, whose row is read here.
  const own = await tenants.of(caller.tenantId);
  const outcome = await own.ordinary(async (tx) => {
    const proof = { relyingParty, challenge, credential, memberId, signInId };
    const proved = await acceptProof(tx, proof, caller.context);
    if (!proved) return "refused";
    const row = await tx.query(readSignIn, signInId);
    if (!row) throw new Fault("unauthenticated", "The sign-in has ended. Sign in again.");
    if (!proved.counts) return undefined;
    stepUp(tx, row);
    return secondFactorUntil(tx.now, tx.now);
  });
  if (outcome === "refused") throw markRecorded(refusedProof());
  if (!outcome) throw refusedProof();
  return outcome;
}

function hasNone(passkeys: readonly Passkey[]): Fault {
  const [first] = passkeys.flatMap(({ countsFrom }) => countsFrom ?? []).toSorted((a, b) => a.getTime() - b.getTime());
  if (!first) return new Fault("unprocessable", "You have no passkey yet. Add one under Your sign-ins.");
  const text = `Your passkey counts as a second factor from ${first.toISOString()}, or once the OWNER has confirmed it under Members.`;
  return new Fault("unprocessable", text);
}

function purposeOf(caller: Caller): Purpose {
  return { of: "check", subject: callingPerson(caller).signInId };
}
