import { createClient, type Transport } from "@connectrpc/connect";
import { PasskeyService } from "#client/proto/cloakroom/v1/passkeys_pb.js";

const browser = () => import("@simplewebauthn/browser");

/** Completes the sign-in that waits in this browser. */
export async function signInWithPasskey(transport: Transport): Promise<void> {
  const client = createClient(PasskeyService, transport);
  const { challengeId, options } = await client.beginPasskeySignIn({});
  await client.finishPasskeySignIn({ challengeId, credential: await proofFor(options) });
}

/** Proves the second factor of the person who is signed in, by a passkey that counts. */
export async function provePasskey(transport: Transport): Promise<{ readonly waits: false }> {
  const client = createClient(PasskeyService, transport);
  const { challengeId, options } = await client.beginPasskeyCheck({});
  await client.finishPasskeyCheck({ challengeId, credential: await proofFor(options) });
  return { waits: false };
}

/** Makes a passkey on a device of the person who is signed in. It may have to wait until it counts as a second factor. */
export async function addPasskey(transport: Transport, name: string): Promise<{ readonly waits: boolean }> {
  const client = createClient(PasskeyService, transport);
  const { challengeId, options } = await client.beginPasskeyRegistration({});
  const { startRegistration } = await browser();
  const credential = JSON.stringify(await startRegistration({ optionsJSON: JSON.parse(options) }));
  const { countsFrom } = await client.finishPasskeyRegistration({ challengeId, credential, name });
  return { waits: countsFrom !== undefined };
}

async function proofFor(options: string): Promise<string> {
  const { startAuthentication } = await browser();
  return JSON.stringify(await startAuthentication({ optionsJSON: JSON.parse(options) }));
}
