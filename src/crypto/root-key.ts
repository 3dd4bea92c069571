import { createHash, createHmac } from "node:crypto";

/**
 * The key that wraps tenant keys. It never leaves its holder: a key file, a Vault or OpenBao Transit mount, AWS KMS.
 * One contract suite runs against every implementation.
 */
export interface RootKey {
  /** Identifies this key in the database, to detect a start with another key. */
  readonly id: string;
  /**
   * Encrypts `secret`, bound to `context`.
   * @throws {RootKeyDenied | RootKeyUnreachable}
   */
  wrap(secret: Uint8Array, context: Uint8Array): Promise<Buffer>;
  /**
   * Decrypts the result of {@link wrap}.
   * @throws {RootKeyRefused} if it was changed, bound to another context, or wrapped by another key.
   * @throws {RootKeyDenied | RootKeyUnreachable}
   */
  unwrap(wrapped: Uint8Array, context: Uint8Array): Promise<Buffer>;
  /** Rises when the holder renews the key under the same id. Older ciphertexts still open. */
  generationOf(wrapped: Uint8Array): number;
  /** Makes the holder renew the key under its id. Absent if a new key has a new id. */
  renew?(): Promise<void>;
}

/** The root key's holder responded, and the wrapped key does not open. */
export class RootKeyRefused extends Error {
  override readonly name = "RootKeyRefused";
}

/** The root key's holder denies the use of the key. The message is one line for the operator and says what to do. */
export class RootKeyDenied extends Error {
  override readonly name = "RootKeyDenied";
}

/**
 * The root key's holder did not respond. A running server retries; a start does not. The message is one line for the
 * operator.
 */
export class RootKeyUnreachable extends Error {
  override readonly name = "RootKeyUnreachable";
}

const CHECK = "cloakroom/root-check/1";

/**
 * A wrapped constant that later proves a root key to be the one of this database. Stored beside the key's id in
 * `root_keys`.
 */
export async function createCheckValue(root: Pick<RootKey, "id" | "wrap">): Promise<Buffer> {
  return root.wrap(checkSecret(root.id), Buffer.from(CHECK));
}

export async function matchesCheckValue(root: RootKey, checkValue: Uint8Array): Promise<boolean> {
  try {
    const secret = await root.unwrap(checkValue, Buffer.from(CHECK));
    return secret.equals(checkSecret(root.id));
  } catch (error) {
    if (error instanceof RootKeyRefused) return false;
    throw error;
  }
}

/** The digest of a context, which is all that a holder in another process learns of it. */
export function contextDigest(context: Uint8Array): Buffer {
  return createHash("sha256").update(context).digest();
}

function checkSecret(id: string): Buffer {
  return createHmac("sha256", CHECK).update(id).digest();
}
