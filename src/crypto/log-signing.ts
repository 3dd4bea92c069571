import {
  createHash,
  createHmac,
  createPrivateKey,
  createPublicKey,
  type KeyObject,
  sign as signNow,
  verify,
} from "node:crypto";
import { promisify } from "node:util";
import type { TenantId } from "../base/ids.js";
import { lengthPrefixed } from "./bytes.js";
import { type KeyVersions, SealBroken } from "./sealed.js";

const sign = promisify(signNow);

/** The DER encoding of an Ed25519 private key up to its 32 bytes (RFC 8410, section 7). */
const PKCS8_PREFIX = Buffer.from("302e020100300506032b657004220420", "hex");
const SPKI_BYTES = 44;

/** A tenant's key pair for its log. The private part is a function of the tenant's audit key and is stored nowhere. */
export interface LogSigningKey {
  readonly privateKey: KeyObject;
  /** SubjectPublicKeyInfo, DER. */
  readonly publicKey: Buffer;
  /** SHA-256 of the public key, in hexadecimal. */
  readonly fingerprint: string;
}

/** Derivation costs about as much as a signature. */
const derived = new WeakMap<KeyObject, LogSigningKey>();

/**
 * The key pair under a version of the audit key; without a version, under the current one.
 * @throws {SealBroken} if the key of that version is gone.
 */
export function logSigningKey(keys: KeyVersions, tenantId: TenantId, version = keys.current): LogSigningKey {
  const secret = keys.byVersion.get(version);
  if (!secret) throw new SealBroken("the key of a signature of the log is gone");
  const known = derived.get(secret);
  if (known) return known;
  const seed = createHmac("sha256", secret)
    .update(lengthPrefixed(["cloakroom/log-signing-key/1", tenantId, String(version)]))
    .digest();
  const encoded = Buffer.concat([PKCS8_PREFIX, seed]);
  const privateKey = createPrivateKey({ key: encoded, format: "der", type: "pkcs8" });
  seed.fill(0);
  encoded.fill(0);
  const publicKey = createPublicKey(privateKey).export({ format: "der", type: "spki" });
  const key = { privateKey, publicKey, fingerprint: signingKeyFingerprint(publicKey) };
  derived.set(secret, key);
  return key;
}

/** Signs a text. Runs on another thread. */
export function signLogText({ privateKey }: LogSigningKey, text: string): Promise<Buffer> {
  return sign(undefined, Buffer.from(text), privateKey);
}

/** A public key of the file; undefined if it is not one of Ed25519. */
export function readLogPublicKey(spki: Uint8Array): KeyObject | undefined {
  if (spki.length !== SPKI_BYTES) return undefined;
  try {
    const key = createPublicKey({ key: Buffer.from(spki), format: "der", type: "spki" });
    return key.asymmetricKeyType === "ed25519" ? key : undefined;
  } catch {
    return undefined;
  }
}

export function isLogSignature(publicKey: KeyObject, text: string, signature: Uint8Array): boolean {
  return signature.length === 64 && verify(undefined, Buffer.from(text), publicKey, signature);
}

export function signingKeyFingerprint(spki: Uint8Array): string {
  return createHash("sha256").update(spki).digest("hex");
}

/** SHA-256 of a signed text, by which the next one names it. */
export function hashOfSigned(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
