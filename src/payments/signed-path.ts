import { fromBase62, toBase62 } from "../base/base-n.js";
import { compactUuid, expandUuid } from "../base/compact-uuid.js";
import { isTenantId, type TenantId, type Uuid } from "../base/ids.js";
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
export function encodeSignedPath(keys: TenantKeys, kind: SignedPathKind, id: Uuid): string {
  return `${compactUuid(keys.tenantId)}${compactUuid(id)}${toBase62(pathProof(keys, kind, id), 22)}`;
}

/** Returns undefined for text that cannot be one of our addresses. */
export function decodeSignedPath(text: string): SignedPath | undefined {
  const [, tenant = "", entity = "", proof = ""] = FORM.exec(text) ?? [];
  const tenantId = expandUuid(tenant);
  const id = expandUuid(entity);
  const bytes = fromBase62(proof, 16);
  return tenantId && isTenantId(tenantId) && id && bytes ? { tenantId, id, proof: bytes } : undefined;
}

export function isAuthenticPath(keys: TenantKeys, kind: SignedPathKind, { tenantId, id, proof }: SignedPath): boolean {
  return tenantId === keys.tenantId && macEquals(pathProof(keys, kind, id), proof);
}

function pathProof(keys: TenantKeys, kind: SignedPathKind, id: Uuid): Buffer {
  return truncatedMac(keys.proof, ["cloakroom/address/1", kind, keys.tenantId, id]);
}
