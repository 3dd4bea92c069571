import type {
  AuthenticationResponseJSON,
  PublicKeyCredentialCreationOptionsJSON,
  PublicKeyCredentialRequestOptionsJSON,
  RegistrationResponseJSON,
} from "@simplewebauthn/server";
import type { Credential } from "./passkey.js";
import type { RelyingParty } from "./relying-party.js";

/** Ed25519, ES256, RS256: what authenticators sign with. */
const ALGORITHMS = [-8, -7, -257];
/** How long a browser waits for its person. The challenge lasts a little longer. */
const TIMEOUT_MS = 4 * 60_000;

/** Takes 0.4 s to load, and few requests need it. */
const library = () => import("@simplewebauthn/server");
const helpers = () => import("@simplewebauthn/server/helpers");

export interface PasskeyOwner {
  readonly memberId: string;
  readonly email: string;
}

/** What the browser needs to make a credential. The authenticator must verify its person: by PIN, finger or face. */
export async function registrationOptions(
  { id: rpID }: RelyingParty,
  { memberId, email }: PasskeyOwner,
  challenge: string,
  known: readonly Credential[],
): Promise<PublicKeyCredentialCreationOptionsJSON> {
  const { generateRegistrationOptions } = await library();
  return generateRegistrationOptions({
    rpName: "Cloakroom",
    rpID,
    userName: email,
    userDisplayName: email,
    timeout: TIMEOUT_MS,
    userID: new Uint8Array(Buffer.from(memberId)),
    challenge: new Uint8Array(Buffer.from(challenge, "base64url")),
    attestationType: "none",
    excludeCredentials: known.map(({ credentialId }) => ({ id: credentialId })),
    authenticatorSelection: { residentKey: "preferred", userVerification: "required" },
    supportedAlgorithmIDs: ALGORITHMS,
  });
}

/** What the browser needs to prove one of these credentials. */
export async function authenticationOptions(
  { id: rpID }: RelyingParty,
  challenge: string,
  known: readonly Credential[],
): Promise<PublicKeyCredentialRequestOptionsJSON> {
  const { generateAuthenticationOptions } = await library();
  return generateAuthenticationOptions({
    rpID,
    userVerification: "required",
    timeout: TIMEOUT_MS,
    challenge: new Uint8Array(Buffer.from(challenge, "base64url")),
    // Without transports: a browser would offer only those that it had when the passkey was made.
    allowCredentials: known.map(({ credentialId }) => ({ id: credentialId })),
  });
}

/** The credential in a browser's response to a registration; undefined if the response is wrong in any way. */
export async function verifyRegistration(
  { id, origin }: RelyingParty,
  challenge: string,
  response: RegistrationResponseJSON,
): Promise<Credential | undefined> {
  const { verifyRegistrationResponse } = await library();
  if (!(await hasNoAttestation(response.response.attestationObject))) return undefined;
  const verified = await verifyRegistrationResponse({
    response,
    expectedChallenge: challenge,
    expectedOrigin: origin,
    expectedRPID: id,
    requireUserVerification: true,
    supportedAlgorithmIDs: ALGORITHMS,
  }).catch(() => undefined);
  if (!verified?.verified) return undefined;
  const { credential, credentialBackedUp: isSynced } = verified.registrationInfo;
  const { id: credentialId, publicKey, counter, transports = [] } = credential;
  return { credentialId, publicKey: new Uint8Array(publicKey), counter, transports, isSynced };
}

export type Refusal = "not valid" | "unknown passkey" | "counter went back";

/** The credential that was proved, with its new counter, or why the proof is refused. */
export async function verifyAuthentication(
  { id, origin }: RelyingParty,
  challenge: string,
  response: AuthenticationResponseJSON,
  known: readonly Credential[],
): Promise<Credential | Refusal> {
  const credential = known.find(({ credentialId }) => credentialId === response.id);
  if (!credential) return "unknown passkey";
  const { verifyAuthenticationResponse } = await library();
  const verified = await verifyAuthenticationResponse({
    response,
    expectedChallenge: challenge,
    expectedOrigin: origin,
    expectedRPID: id,
    requireUserVerification: true,
    // The counter is compared below, where its refusal has a name.
    credential: { id: credential.credentialId, publicKey: credential.publicKey, counter: 0 },
  }).catch(() => undefined);
  if (!verified?.verified) return "not valid";
  const { newCounter: counter, credentialBackedUp: isSynced } = verified.authenticationInfo;
  // WebAuthn Level 3, 7.2 step 22: a counter that does not grow is the sign of a copied authenticator.
  if ((counter > 0 || credential.counter > 0) && counter <= credential.counter) return "counter went back";
  return { ...credential, counter, isSynced };
}

/**
 * Whether an attestation object makes no statement, as we ask browsers for. Checking a statement would fetch revocation
 * lists from addresses that the sender chooses.
 */
async function hasNoAttestation(attestationObject: string): Promise<boolean> {
  const { decodeAttestationObject } = await helpers();
  try {
    return decodeAttestationObject(new Uint8Array(Buffer.from(attestationObject, "base64url"))).get("fmt") === "none";
  } catch {
    return false;
  }
}
