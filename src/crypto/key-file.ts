import { createCipheriv, createDecipheriv, createSecretKey, type KeyObject, randomBytes } from "node:crypto";
import { constants } from "node:fs";
import { mkdir, open, readFile, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { newNonce } from "./bytes.js";
import { type RootKey, RootKeyRefused } from "./root-key.js";

const LINE = /^cloakroom-root-key-1\.([a-z0-9]{16})\.([A-Za-z0-9_-]{43})$/;
const NONCE = 12;
const TAG = 16;

/** The key file is missing, unreadable or not ours. The message is one line for the operator and says what to do. */
export class KeyFileError extends Error {
  override readonly name = "KeyFileError";
}

/**
 * Makes a key file with a new root key: one line, mode 0600. Never overwrites.
 * @throws {KeyFileError} when the file exists.
 */
export async function createKeyFile(path: string): Promise<RootKey> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const id = randomBytes(8).toString("hex");
  const secret = randomBytes(32);
  try {
    const file = await open(path, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL, 0o600);
    try {
      await file.writeFile(`cloakroom-root-key-1.${id}.${secret.toString("base64url")}\n`);
      await file.sync();
    } finally {
      await file.close();
    }
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "EEXIST") {
      throw new KeyFileError(
        `There is a root key at ${path} already; it is never overwritten. Move it away if it belongs to nothing.`,
      );
    }
    throw error;
  }
  const directory = await open(dirname(path), constants.O_RDONLY);
  await directory.sync().finally(() => directory.close());
  return new KeyFileRootKey(id, createSecretKey(secret));
}

/** @throws {KeyFileError} when the file is missing, open to others, or malformed. */
export async function readKeyFile(path: string): Promise<RootKey> {
  const found = await stat(path).catch(() => undefined);
  if (!found) {
    throw new KeyFileError(
      `The root key ${path} is missing. Without it nothing stored can be read: restore it from your backup, or name its place in CLOAKROOM_ROOT_KEY_FILE.`,
    );
  }
  if (process.platform !== "win32" && (found.mode & 0o077) !== 0) {
    throw new KeyFileError(`The root key ${path} can be read by others. Run: chmod 600 ${path}`);
  }
  const match = LINE.exec((await readFile(path, "utf8")).trim());
  const [, id, secret] = match ?? [];
  if (!id || !secret) {
    throw new KeyFileError(
      `${path} is not a Cloakroom root key. Restore it from your backup, or name another in CLOAKROOM_ROOT_KEY_FILE.`,
    );
  }
  return new KeyFileRootKey(id, createSecretKey(Buffer.from(secret, "base64url")));
}

/** Wraps with AES-256-GCM. Layout: nonce (12), ciphertext, tag (16). */
class KeyFileRootKey implements RootKey {
  readonly id: string;
  readonly #key: KeyObject;

  constructor(id: string, key: KeyObject) {
    this.id = id;
    this.#key = key;
  }

  async wrap(secret: Uint8Array, context: Uint8Array): Promise<Buffer> {
    const nonce = newNonce();
    const cipher = createCipheriv("aes-256-gcm", this.#key, nonce);
    cipher.setAAD(context);
    const ciphertext = cipher.update(secret);
    cipher.final();
    return Buffer.concat([nonce, ciphertext, cipher.getAuthTag()]);
  }

  async unwrap(wrapped: Uint8Array, context: Uint8Array): Promise<Buffer> {
    const bytes = Buffer.from(wrapped);
    if (bytes.length < NONCE + TAG) throw new RootKeyRefused("a wrapped key is malformed");
    try {
      const decipher = createDecipheriv("aes-256-gcm", this.#key, bytes.subarray(0, NONCE));
      decipher.setAAD(context);
      decipher.setAuthTag(bytes.subarray(bytes.length - TAG));
      const secret = decipher.update(bytes.subarray(NONCE, bytes.length - TAG));
      decipher.final();
      return secret;
    } catch {
      throw new RootKeyRefused("a wrapped key does not open under this root key");
    }
  }
}
