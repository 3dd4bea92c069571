import { createHash, createHmac } from "node:crypto";

/**
 * The key that wraps tenant keys. It never leaves its holder: a key file, a Vault or OpenBao Transit mount, AWS KMS.
 * One contract suite runs against every implementation.
 */
export interface RootKey {
  /** Names this key in the database, so that a start with another key is noticed. */
  readonly id: string;
  /**
   * Encrypts `secret`, bound to `context`.
   * @throws {RootKeyDenied | RootKeyUnreachable}
   */
  wrap(secret: Uint8Array, context: Uint8Array): Promise<Buffer>;
  /**
   * Decrypts what {@link wrap} returned.
   * @throws {RootKeyRefused} when it was changed, bound to another context, or wrapped by another key.
   * @throws {RootKeyDenied | RootKeyUnreachable}
   */
  unwrap(wrapped: Uint8Array, context: Uint8Array): Promise<Buffer>;
  /** Counts up where the holder renews the key under its old id. What an earlier one wrapped still opens. */
  generationOf(wrapped: Uint8Array): number;
  /** Has the holder renew the key under its id. Absent where a new key has a new id. */
  renew?(): Promise<void>;
}

/** The root key's holder answered, and what was to be unwrapped does not open. */
export class RootKeyRefused extends Error {
  override readonly name = "RootKeyRefused";
}

/** The root key's holder does not let us use the key. The message is one line for the operator and says what to do. */
export class RootKeyDenied extends Error {
  override readonly name = "RootKeyDenied";
}

/** The root key's holder did not answer. Trying again later makes sense. The message is one line for the operator. */
export class RootKeyUnreachable extends Error {
  override readonly name = "RootKeyUnreachable";
}

const CHECK = "cloakroom/root-check/1";

/**
 * Proves later that a root key is the one the database was made with: a wrapped constant. Kept beside the key's id in
 * `root_keys`.
 */
export async function makeCheckValue(root: Pick<RootKey, "id" | "wrap">): Promise<Buffer> {
  return root.wrap(checkSecret(root.id), Buffer.from(CHECK));
}

export async function fitsCheckValue(root: RootKey, checkValue: Uint8Array): Promise<boolean> {
  try {
    const secret = await root.unwrap(checkValue, Buffer.from(CHECK));
    return secret.equals(checkSecret(root.id));
  } catch (error) {
    if (error instanceof RootKeyRefused) return false;
    throw error;
  }
}

/** What a holder in another process is told of a context: enough to bind to, and no more. */
export function contextDigest(context: Uint8Array): Buffer {
  return createHash("sha256").update(context).digest();
}

function checkSecret(id: string): Buffer {
  return createHmac("sha256", CHECK).update(id).digest();
}
