import { createCipheriv, createDecipheriv, createHmac, createSecretKey, type KeyObject } from "node:crypto";
import type { TenantId } from "../base/ids.js";
import { lengthPrefixed, newNonce } from "./bytes.js";

const FORMAT = 0x01;
const HEADER = 1 + 4 + 12;
const TAG = 16;
const DERIVATION = "cloakroom/seal/1";

/** What a sealed value belongs to. A ciphertext opens under exactly the place it was sealed for. */
export interface SealedPlace {
  readonly tenantId: TenantId;
  /** The id of the token, proxy, connection ... that the value is part of. */
  readonly entity: string;
  /** The field of that entity: `data`, `attributes`, `cvc` ... */
  readonly field: string;
}

/** The versions of one tenant key. New values are sealed under the current one. */
export interface KeyVersions {
  readonly current: number;
  readonly byVersion: ReadonlyMap<number, KeyObject>;
}

/** A sealed value cannot be opened: it was changed, belongs elsewhere, or its key is gone. */
export class SealBroken extends Error {
  override readonly name = "SealBroken";
}

/**
 * A sealed value names a key version that is not among the keys at hand: they were read before the tenant's keys were
 * rotated, or the value is forged. Reading keys and value again tells which.
 */
export class KeyVersionUnknown extends SealBroken {}

/**
 * Encrypts with AES-256-GCM under a key derived for the entity alone, so that the 2^32 limit for random nonces counts
 * per entity and not per tenant. Layout: format, key version (4), nonce (12), ciphertext, tag (16): 33 bytes more than
 * the plaintext.
 */
export function seal(keys: KeyVersions, place: SealedPlace, plaintext: Uint8Array): Buffer {
  const version = keys.current;
  const nonce = newNonce();
  const cipher = createCipheriv("aes-256-gcm", entityKey(keys, version, place.entity), nonce);
  cipher.setAAD(additionalData(place, version));
  const sealed = Buffer.allocUnsafe(HEADER + plaintext.length + TAG);
  sealed[0] = FORMAT;
  sealed.writeUInt32BE(version, 1);
  sealed.set(nonce, 5);
  sealed.set(cipher.update(plaintext), HEADER);
  cipher.final();
  sealed.set(cipher.getAuthTag(), HEADER + plaintext.length);
  return sealed;
}

/** @throws {SealBroken} without saying which part did not fit. */
export function open(keys: KeyVersions, place: SealedPlace, sealed: Uint8Array): Buffer {
  const bytes = Buffer.from(sealed.buffer, sealed.byteOffset, sealed.byteLength);
  if (bytes.length < HEADER + TAG || bytes[0] !== FORMAT) throw new SealBroken("a sealed value is malformed");
  const version = bytes.readUInt32BE(1);
  if (!keys.byVersion.has(version)) throw new KeyVersionUnknown("the key of a sealed value is not at hand");
  try {
    const decipher = createDecipheriv("aes-256-gcm", entityKey(keys, version, place.entity), bytes.subarray(5, HEADER));
    decipher.setAAD(additionalData(place, version));
    decipher.setAuthTag(bytes.subarray(bytes.length - TAG));
    const plaintext = decipher.update(bytes.subarray(HEADER, bytes.length - TAG));
    decipher.final();
    return plaintext;
  } catch {
    throw new SealBroken("a sealed value does not open");
  }
}

/**
 * The key version a sealed value needs.
 * @throws {SealBroken} where it is too short to name one.
 */
export function sealedVersion(sealed: Uint8Array): number {
  if (sealed.byteLength < HEADER) throw new SealBroken("a sealed value is malformed");
  return Buffer.from(sealed.buffer, sealed.byteOffset, sealed.byteLength).readUInt32BE(1);
}

/** Given as bytes, a key costs a cipher or an HMAC 16 us more than as a `KeyObject` (Node 24.21). */
function entityKey(keys: KeyVersions, version: number, entity: string): KeyObject {
  const key = keys.byVersion.get(version);
  if (!key) throw new SealBroken("the key of a sealed value is gone");
  const derived = createHmac("sha256", key)
    .update(lengthPrefixed([DERIVATION, entity]))
    .digest();
  const derivedKey = createSecretKey(derived);
  derived.fill(0);
  return derivedKey;
}

function additionalData(place: SealedPlace, version: number): Buffer {
  const versionBytes = Buffer.allocUnsafe(4);
  versionBytes.writeUInt32BE(version);
  return lengthPrefixed([place.tenantId, place.entity, place.field, versionBytes]);
}
