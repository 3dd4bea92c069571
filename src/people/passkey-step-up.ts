import { type Caller, personOf } from "../access/caller.js";
import { Fault } from "../base/fault.js";
import type { Uuid } from "../base/ids.js";
import { readSignIn } from "../store/people/sign-ins.js";
import { readAuthentication } from "./credential-text.js";
import { listMemberPasskeys } from "./passkey.js";
import { consumeChallenge, issueChallenge, type Purpose } from "./passkey-challenge.js";
import type { PasskeyParts, ShownChallenge } from "./passkey-parts.js";
import { acceptProof, refusedProof } from "./passkey-proof.js";
import { relyingPartyOf } from "./relying-party.js";
import { secondFactorUntil } from "./second-factor-time.js";
import { stepUp } from "./sign-in.js";
import { requireWithinLimit } from "./sign-in-limit.js";
import { authenticationOptions } from "./webauthn.js";

/**
 * Asks a person who is signed in for a passkey.
 * @throws {Fault} unprocessable if the person has none; rate_limited.
 */
export async function beginPasskeyCheck(parts: PasskeyParts, caller: Caller): Promise<ShownChallenge> {
  const relyingParty = relyingPartyOf(parts.address());
  const { memberId, signInId } = personOf(caller);
  await requireWithinLimit(parts.limits, { kind: "passkey", signInId });
  const keys = await parts.keyring.of(caller.tenantId);
  return parts.database.ordinary.run(caller.tenantId, caller.revision, async (tx) => {
    const passkeys = await listMemberPasskeys(tx, keys, memberId);
    if (passkeys.length === 0)
      throw new Fault("unprocessable", "You have no passkey yet. Add one under Your sign-ins.");
    const { id: challengeId, challenge } = issueChallenge(tx, keys, purposeOf(caller));
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
  { database, keyring, address }: PasskeyParts,
  caller: Caller,
  challengeId: Uuid,
  text: string,
): Promise<Date> {
  const credential = readAuthentication(text);
  const relyingParty = relyingPartyOf(address());
  const { memberId, signInId } = personOf(caller);
  const { tenantId, revision, context } = caller;
  const keys = await keyring.of(tenantId);
  // Committed before the proof is looked at: no proof is tried twice.
  const challenge = await database.ordinary.run(tenantId, revision, (tx) =>
    consumeChallenge(tx, keys, challengeId, purposeOf(caller)),
  );
  if (challenge === undefined) throw refusedProof();
  const until = await database.ordinary.run(tenantId, revision, async (tx) => {
    const proof = { relyingParty, challenge, credential, memberId, signInId };
    const member = await acceptProof(tx, keys, proof, context);
    const row = member && (await tx.query(readSignIn, signInId));
    if (!row) return undefined;
    stepUp(tx, keys, row);
    return secondFactorUntil(tx.now, tx.now);
  });
  if (!until) throw refusedProof();
  return until;
}

function purposeOf(caller: Caller): Purpose {
  return { of: "check", subject: personOf(caller).signInId };
}
