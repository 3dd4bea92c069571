import { randomBytes } from "node:crypto";
import { compactUuid, expandUuid } from "../base/compact-uuid.js";
import { isTenantId, type TenantId, type Uuid } from "../base/ids.js";
import { macEquals, truncatedMac } from "../crypto/keyed-hash.js";
import type { TenantKeys } from "../crypto/tenant-keys.js";

/** A public or session key, named by its hash: a page may show the name to anyone. */
export interface KeyName {
  readonly kind: "pub" | "ses";
  readonly tenantId: TenantId;
  /** SHA-256 of the key. */
  readonly hash: Buffer;
}

const KEY_NAME = /^(pub|ses)_([0-9A-Za-z]{22})_([0-9A-Za-z_-]{43})$/;

/** Reads `pub_<tenant>_<SHA-256 of the key in base64url>`. Returns undefined for any other text. */
export function parseKeyName(text: string): KeyName | undefined {
  const [, kind, tenant = "", hash = ""] = KEY_NAME.exec(text) ?? [];
  const tenantId = expandUuid(tenant);
  if ((kind !== "pub" && kind !== "ses") || !tenantId || !isTenantId(tenantId)) return undefined;
  return { kind, tenantId, hash: Buffer.from(hash, "base64url") };
}

export function writeKeyName({ kind, tenantId, hash }: KeyName): string {
  return `${kind}_${compactUuid(tenantId)}_${hash.toString("base64url")}`;
}

/** What a frame sends in its header: `<pass> <name of its key> <origin of the page>`. */
export interface SentPass {
  readonly key: KeyName;
  /** When the document of the frame was loaded. */
  readonly start: number;
  readonly until: number;
  /** Of the document, in all its passes. */
  readonly id: string;
  readonly mac: Buffer;
  readonly origin: string;
}

/** Milliseconds in base 36, as long as JavaScript can hold them. */
const PASS = /^([0-9a-z]{1,10})\.([0-9a-z]{1,10})\.([0-9A-Za-z_-]{22})\.([0-9A-Za-z_-]{22})$/;

export function parseSentPass(sent: string): SentPass | undefined {
  const [pass = "", keyName = "", origin = "", ...further] = sent.split(" ");
  const [, start = "", until = "", id = "", mac = ""] = PASS.exec(pass) ?? [];
  const key = parseKeyName(keyName);
  if (!key || mac === "" || further.length > 0) return undefined;
  return {
    key,
    id,
    origin,
    start: Number.parseInt(start, 36),
    until: Number.parseInt(until, 36),
    mac: Buffer.from(mac, "base64url"),
  };
}

export function newPassId(): string {
  return randomBytes(16).toString("base64url");
}

/** What a pass proves: a document of this key and application was loaded at its start. */
export type PassFacts = Omit<SentPass, "mac" | "origin"> & { readonly applicationId: Uuid };

export function writePass(keys: TenantKeys, facts: PassFacts): string {
  return [facts.start.toString(36), facts.until.toString(36), facts.id, macOf(keys, facts).toString("base64url")].join(
    ".",
  );
}

export function isGenuine(keys: TenantKeys, sent: SentPass, applicationId: Uuid): boolean {
  return macEquals(macOf(keys, { ...sent, applicationId }), sent.mac);
}

function macOf(keys: TenantKeys, { key, applicationId, start, until, id }: PassFacts): Buffer {
  const times = [start, until].map((time) => time.toString(36));
  return truncatedMac(keys.proof, ["cloakroom/frame/2", writeKeyName(key), applicationId, ...times, id]);
}
