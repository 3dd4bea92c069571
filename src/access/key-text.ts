import { createHash, randomBytes } from "node:crypto";
import { crc32 } from "node:zlib";
import { toBase62 } from "../base/base-n.js";
import { compactUuid, expandUuid } from "../base/compact-uuid.js";
import { isTenantId, type TenantId } from "../base/ids.js";
import { Sensitive } from "../crypto/sensitive.js";

/** The holder of a key: an application of a type, a session, or a proxy. */
export const KEY_KINDS = ["pvt", "pub", "mgt", "ses", "prx"] as const;
export type KeyKind = (typeof KEY_KINDS)[number];

/** A received key. Only its form has been checked. */
export interface PresentedKey {
  readonly kind: KeyKind;
  readonly tenantId: TenantId;
  /** SHA-256 of the text. Only this hash of a key is stored; 256 random bits need no slow hash. */
  readonly hash: Buffer;
}

const FORM = /^key_[a-z]+_(pvt|pub|mgt|ses|prx)_([0-9A-Za-z]{22})_[0-9A-Za-z]{43}_([0-9A-Za-z]{6})$/;

/** A new key: `key_prod_<kind>_<tenant>_<secret>_<checksum>`, 86 characters. The text is shown once and never stored. */
export function newKey(kind: KeyKind, tenantId: TenantId): { text: Sensitive<string>; hash: Buffer } {
  const body = `key_prod_${kind}_${compactUuid(tenantId)}_${toBase62(randomBytes(32), 43)}`;
  const text = `${body}_${checksum(body)}`;
  return { text: new Sensitive(text), hash: hashOf(text) };
}

/**
 * Reads a key. It contains the tenant, and its checksum saves the database a look-up for every mistyped or made-up key.
 * Returns undefined for a text that is not one of our keys.
 */
export function parseKey(text: string): PresentedKey | undefined {
  const [, kind, tenant, sum] = FORM.exec(text) ?? [];
  if (!isKeyKind(kind) || !tenant || sum !== checksum(text.slice(0, -7))) return undefined;
  const id = expandUuid(tenant);
  return id && isTenantId(id) ? { kind, tenantId: id, hash: hashOf(text) } : undefined;
}

function isKeyKind(text: string | undefined): text is KeyKind {
  return KEY_KINDS.some((kind) => kind === text);
}

function hashOf(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}

/** CRC-32 in base62. It distinguishes a mistyped key or link from a real one without a look-up. */
export function checksum(body: string): string {
  const bytes = Buffer.allocUnsafe(4);
  bytes.writeUInt32BE(crc32(body));
  return toBase62(bytes, 6);
}
