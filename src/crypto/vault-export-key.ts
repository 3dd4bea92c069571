import { createHmac, createSecretKey, type Hmac, type KeyObject, randomBytes } from "node:crypto";
import type { RootKey } from "./root-key.js";

const CONTEXT = Buffer.from("cloakroom/export/1");

/** Generates a key for one export. Its MAC detects changes to the file by anyone without the root key. */
export async function newExportKey(root: RootKey): Promise<{ readonly key: KeyObject; readonly wrapped: Buffer }> {
  const secret = randomBytes(32);
  const wrapped = await root.wrap(secret, CONTEXT);
  const key = createSecretKey(secret);
  secret.fill(0);
  return { key, wrapped };
}

/** @throws {RootKeyRefused} if the file was made under another root key, or was changed. */
export async function openExportKey(root: RootKey, wrapped: Uint8Array): Promise<KeyObject> {
  const secret = await root.unwrap(wrapped, CONTEXT);
  const key = createSecretKey(secret);
  secret.fill(0);
  return key;
}

/** A MAC over all bytes of a file, in order. */
export function exportMac(key: KeyObject): Hmac {
  return createHmac("sha256", key);
}
