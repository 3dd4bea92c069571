import { createClient, type Transport } from "@connectrpc/connect";
import { PasskeyService } from "../../../../clients/typescript/src/proto/cloakroom/v1/passkeys_pb.js";

const browser = () => import("@simplewebauthn/browser");

/** Completes the sign-in that waits in this browser. */
export async function signInWithPasskey(transport: Transport): Promise<void> {
  const client = createClient(PasskeyService, transport);
  const { challengeId, options } = await client.beginPasskeySignIn({});
  await client.finishPasskeySignIn({ challengeId, credential: await proofFor(options) });
}

/** Proves the second factor of the person who is signed in. */
export async function provePasskey(transport: Transport): Promise<void> {
  const client = createClient(PasskeyService, transport);
  const { challengeId, options } = await client.beginPasskeyCheck({});
  await client.finishPasskeyCheck({ challengeId, credential: await proofFor(options) });
}

/** Makes a passkey on a device of the person who is signed in. */
export async function addPasskey(transport: Transport, name: string): Promise<void> {
  const client = createClient(PasskeyService, transport);
  const { challengeId, options } = await client.beginPasskeyRegistration({});
  const { startRegistration } = await browser();
  const credential = JSON.stringify(await startRegistration({ optionsJSON: JSON.parse(options) }));
  await client.finishPasskeyRegistration({ challengeId, credential, name });
}

async function proofFor(options: string): Promise<string> {
  const { startAuthentication } = await browser();
  return JSON.stringify(await startAuthentication({ optionsJSON: JSON.parse(options) }));
}
