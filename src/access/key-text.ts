import { createHash, type KeyObject, randomBytes } from "node:crypto";
import { crc32 } from "node:zlib";
import { fromBase62, toBase62 } from "../base/base-n.js";
import { compactUuid, expandUuid } from "../base/compact-uuid.js";
import { isTenantId, type TenantId } from "../base/ids.js";
import { macEquals, truncatedMac } from "../crypto/keyed-hash.js";
import { Sensitive } from "../crypto/sensitive.js";
import type { TenantKeys } from "../crypto/tenant-keys.js";

/** The holder of a key: an application of a type, a session, or a proxy. */
export const KEY_KINDS = ["pvt", "pub", "mgt", "ses", "prx"] as const;
export type KeyKind = (typeof KEY_KINDS)[number];

/** A received key. Only its form has been checked. */
export interface PresentedKey {
  readonly kind: KeyKind;
  readonly tenantId: TenantId;
  /** SHA-256 of the text. Only this hash of a key is stored; 192 random bits need no slow hash. */
  readonly hash: Buffer;
}

const FORM = /^key_[a-z]+_(pvt|pub|mgt|ses|prx)_([0-9A-Za-z]{22})_[0-9A-Za-z]{43}_([0-9A-Za-z]{6})$/;

/** A secret is so many random bytes, followed by a mark. */
const RANDOM_BYTES = 24;
const MARK_BYTES = 8;
const SECRET_CHARACTERS = 43;

const CHECKSUM_CHARACTERS = 6;

const SECRET_FROM_END = SECRET_CHARACTERS + 1 + CHECKSUM_CHARACTERS;

/**
 * A new key: `key_prod_<kind>_<tenant>_<secret>_<checksum>`, 86 characters. The text is shown once and never stored.
 * @param keys the vault's key for marks: see {@link isMarked}.
 */
export function newKey(
  kind: KeyKind,
  tenantId: TenantId,
  { keyMark }: Pick<TenantKeys, "keyMark">,
): { text: Sensitive<string>; hash: Buffer } {
  const start = `key_prod_${kind}_${compactUuid(tenantId)}_`;
  const random = randomBytes(RANDOM_BYTES);
  const body = start + toBase62(Buffer.concat([random, markOf(keyMark, start, random)]), SECRET_CHARACTERS);
  const text = `${body}_${checksum(body)}`;
  return { text: new Sensitive(text), hash: hashOfSecret(text) };
}

/**
 * Whether this vault has issued a key, by the mark in its secret: a made-up key costs one keyed hash and no look-up,
 * whatever tenant it names. Says nothing about whether the key is still valid.
 * @param text of a key that {@link parseKey} can read.
 */
export function isMarked(keyMark: KeyObject, text: string): boolean {
  const start = text.slice(0, -SECRET_FROM_END);
  const secret = fromBase62(text.slice(-SECRET_FROM_END, -CHECKSUM_CHARACTERS - 1), RANDOM_BYTES + MARK_BYTES);
  if (!secret) return false;
  return macEquals(markOf(keyMark, start, secret.subarray(0, RANDOM_BYTES)), secret.subarray(RANDOM_BYTES));
}

/** @param start of the key, before its secret: a mark fits one kind and tenant. */
function markOf(keyMark: KeyObject, start: string, random: Uint8Array): Buffer {
  return truncatedMac(keyMark, ["cloakroom/key-mark/1", start, random]).subarray(0, MARK_BYTES);
}

/**
 * Reads a key. It contains the tenant, and its checksum saves the database a look-up for every mistyped or made-up key.
 * Returns undefined for a text that is not one of our keys.
 */
export function parseKey(text: string): PresentedKey | undefined {
  const [, kind, tenant, sum] = FORM.exec(text) ?? [];
  if (!isKeyKind(kind) || !tenant || sum !== checksum(text.slice(0, -7))) return undefined;
  const id = expandUuid(tenant);
  return id && isTenantId(id) ? { kind, tenantId: id, hash: hashOfSecret(text) } : undefined;
}

function isKeyKind(text: string | undefined): text is KeyKind {
  return KEY_KINDS.some((kind) => kind === text);
}

/** SHA-256. The vault stores only this hash of a key, link or cookie: 192 random bits or more need no slow hash. */
export function hashOfSecret(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}

/** CRC-32 in base62. It distinguishes a mistyped key or link from a real one without a look-up. */
export function checksum(body: string): string {
  const bytes = Buffer.allocUnsafe(4);
  bytes.writeUInt32BE(crc32(body));
  return toBase62(bytes, CHECKSUM_CHARACTERS);
}
