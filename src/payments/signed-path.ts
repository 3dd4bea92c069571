import { fromBase62, toBase62 } from "../base/base-n.js";
import { isTenantId, isUuid, type TenantId, type Uuid } from "../base/ids.js";
import { macEquals, truncatedMac } from "../crypto/keyed-hash.js";
import type { TenantKeys } from "../crypto/tenant-keys.js";

/** The purpose of an address that we hand out. */
export type SignedPathKind = "payment-return" | "payment-webhook" | "simulator-approval" | "three-ds-challenge";

/**
 * An address that a request arrived at. Its proof is not checked yet; the keys of the tenant that it names are needed
 * for that.
 */
export interface SignedPath {
  readonly tenantId: TenantId;
  readonly id: Uuid;
  readonly proof: Buffer;
}

const FORM = /^([0-9A-Za-z]{22})([0-9A-Za-z]{22})([0-9A-Za-z]{22})$/;

/** A path segment of 66 letters and digits: tenant, entity and a proof that we made it. */
export function encodeSignedPath(keys: TenantKeys, kind: SignedPathKind, tenantId: TenantId, id: Uuid): string {
  return `${base62Of(tenantId)}${base62Of(id)}${toBase62(pathProof(keys, kind, tenantId, id), 22)}`;
}

/** Returns undefined for text that cannot be one of our addresses. */
export function decodeSignedPath(text: string): SignedPath | undefined {
  const [, tenant = "", entity = "", proof = ""] = FORM.exec(text) ?? [];
  const tenantId = uuidFrom(tenant);
  const id = uuidFrom(entity);
  const bytes = fromBase62(proof, 16);
  return tenantId && isTenantId(tenantId) && id && bytes ? { tenantId, id, proof: bytes } : undefined;
}

export function isAuthenticPath(keys: TenantKeys, kind: SignedPathKind, { tenantId, id, proof }: SignedPath): boolean {
  return macEquals(pathProof(keys, kind, tenantId, id), proof);
}

/** The 128-bit id as 22 letters and digits, for payment services: some accept fewer than 36 characters. */
export function base62Of(id: Uuid): string {
  return toBase62(Buffer.from(id.replaceAll("-", ""), "hex"), 22);
}

/** The inverse of {@link base62Of}. */
export function uuidFrom(text: string): Uuid | undefined {
  const hex = text.length === 22 ? fromBase62(text, 16)?.toString("hex") : undefined;
  if (!hex) return undefined;
  const id = [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join("-");
  return isUuid(id) ? id : undefined;
}

function pathProof(keys: TenantKeys, kind: SignedPathKind, tenantId: TenantId, id: Uuid): Buffer {
  return truncatedMac(keys.proof, ["cloakroom/address/1", kind, tenantId, id]);
}
