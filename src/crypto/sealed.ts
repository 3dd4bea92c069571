import { createCipheriv, createDecipheriv, createHmac, createSecretKey, type KeyObject } from "node:crypto";
import { Reason } from "../base/fault.js";
import type { TenantId } from "../base/ids.js";
import { lengthPrefixed, newNonce, unknownFormat } from "./bytes.js";

const FORMAT = 0x01;
const HEADER = 1 + 4 + 12;
const TAG = 16;
const DERIVATION = "cloakroom/seal/1";

/** Of the value at hand. Node copies both at once, so each value writes its own over those of the last. */
const [nonce, tag] = [Buffer.alloc(12), Buffer.alloc(TAG)];

/** What a sealed value belongs to. A ciphertext opens under exactly the context it was sealed for. */
export interface SealContext {
  readonly tenantId: TenantId;
  /** The id of the token, proxy, connection ... that has the value. */
  readonly entity: string;
  /** The field of that entity: `data`, `attributes`, `cvc` ... */
  readonly field: string;
  /** Plain columns of the same row. The value no longer opens if they change: see {@link encodeAad}. */
  readonly bound?: string;
}

/** A plain column as the database client reads it. */
export type AadValue = string | number | boolean | null | Date | Uint8Array | readonly string[];

export interface KeyVersions {
  readonly current: number;
  readonly byVersion: ReadonlyMap<number, KeyObject>;
}

/** A sealed value cannot be opened: it was changed, belongs elsewhere, or its key is gone. */
export class SealBroken extends Reason {}

/**
 * A sealed value names a key version that was not loaded: either the keys were read before a rotation, or the value is
 * forged. Reading keys and value again tells which.
 */
export class KeyVersionUnknown extends SealBroken {}

/**
 * Encrypts with AES-256-GCM under a key derived for the entity, which makes the limit of 2^32 random nonces apply per
 * entity instead of per tenant. Layout: format, key version (4), nonce (12), ciphertext, tag (16): 33 bytes more than
 * the plaintext.
 */
export function seal(keys: KeyVersions, context: SealContext, plaintext: Uint8Array): Buffer {
  const version = keys.current;
  newNonce(nonce);
  const cipher = createCipheriv("aes-256-gcm", entityKey(keys, version, context.entity), nonce);
  cipher.setAAD(additionalData(context, version));
  const sealed = Buffer.allocUnsafe(HEADER + plaintext.length + TAG);
  sealed[0] = FORMAT;
  sealed.writeUInt32BE(version, 1);
  sealed.set(nonce, 5);
  sealed.set(cipher.update(plaintext), HEADER);
  cipher.final();
  sealed.set(cipher.getAuthTag(), HEADER + plaintext.length);
  return sealed;
}

/**
 * @throws {SealBroken} without naming the part that did not match. For a value of a format that this program does not
 *   know, with the format's number.
 */
export function open(keys: KeyVersions, context: SealContext, sealed: Uint8Array): Buffer {
  const bytes = Buffer.isBuffer(sealed) ? sealed : Buffer.from(sealed.buffer, sealed.byteOffset, sealed.byteLength);
  if (bytes.length < HEADER + TAG) throw new SealBroken("a sealed value is malformed");
  if (bytes[0] !== FORMAT) throw new SealBroken(unknownFormat("a sealed value", bytes[0], FORMAT));
  const version = bytes.readUInt32BE(1);
  if (!keys.byVersion.has(version)) throw new KeyVersionUnknown("the key of a sealed value is not loaded");
  try {
    bytes.copy(nonce, 0, 5);
    const decipher = createDecipheriv("aes-256-gcm", entityKey(keys, version, context.entity), nonce);
    decipher.setAAD(additionalData(context, version));
    bytes.copy(tag, 0, bytes.length - TAG);
    decipher.setAuthTag(tag);
    const plaintext = decipher.update(bytes.subarray(HEADER, bytes.length - TAG));
    decipher.final();
    return plaintext;
  } catch {
    throw new SealBroken("a sealed value does not open");
  }
}

/** The last key derived from each tenant key: the values of one row follow each other, and deriving takes 6 us. */
const lastDerived = new WeakMap<KeyObject, { readonly entity: string; readonly derivedKey: KeyObject }>();

/** A cipher or HMAC takes 16 us longer with a key in bytes than with a `KeyObject` (Node 24.21). */
function entityKey(keys: KeyVersions, version: number, entity: string): KeyObject {
  const key = keys.byVersion.get(version);
  if (!key) throw new SealBroken("the key of a sealed value is gone");
  const last = lastDerived.get(key);
  if (last?.entity === entity) return last.derivedKey;
  const derived = createHmac("sha256", key)
    .update(lengthPrefixed([DERIVATION, entity]))
    .digest();
  const derivedKey = createSecretKey(derived);
  derived.fill(0);
  lastDerived.set(key, { entity, derivedKey });
  return derivedKey;
}

/**
 * Encodes the plain columns of a row that decide who may see a value. They become additional data, so the value opens
 * beside exactly these.
 */
export function encodeAad<Column extends string>(
  row: Readonly<Record<Column, AadValue>>,
  columns: readonly Column[],
): string {
  return JSON.stringify(columns.map((column) => writable(row[column])));
}

/** Each column has one type, so hexadecimal bytes cannot be confused with text. JSON writes dates itself. */
function writable(value: AadValue): Exclude<AadValue, Uint8Array> {
  if (!(value instanceof Uint8Array)) return value;
  return Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString("hex");
}

function additionalData({ tenantId, entity, field, bound }: SealContext, version: number): Buffer {
  const versionBytes = bytesOfVersion(version);
  return lengthPrefixed(
    bound === undefined ? [tenantId, entity, field, versionBytes] : [tenantId, entity, field, versionBytes, bound],
  );
}

/** Of the versions that were loaded, which are few. */
const versionsInBytes = new Map<number, Buffer>();

function bytesOfVersion(version: number): Buffer {
  const known = versionsInBytes.get(version);
  if (known) return known;
  const made = Buffer.alloc(4);
  made.writeUInt32BE(version);
  versionsInBytes.set(version, made);
  return made;
}
