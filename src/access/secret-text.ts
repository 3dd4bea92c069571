import { randomBytes } from "node:crypto";
import { toBase62 } from "../base/base-n.js";
import { compactUuid, expandUuid } from "../base/compact-uuid.js";
import { isTenantId, type TenantId, type Uuid } from "../base/ids.js";
import { Sensitive } from "../crypto/sensitive.js";
import { checksum, hashOfSecret } from "./key-text.js";

/**
 * What a secret is for: the cookie of a sign-in, a sign-in link, the cookie of a browser that asked for one, of one at an
 * issuer's page, or of one from which a passkey is awaited; or the link of an invitation.
 */
export type SecretKind = "sgn" | "lnk" | "ask" | "oid" | "pky" | "inv";

/** A received secret. Only its form has been checked. */
export interface PresentedSecret {
  readonly tenantId: TenantId;
  readonly id: Uuid;
  /** SHA-256 of the text. Only this hash is stored; 256 random bits need no slow hash. */
  readonly hash: Buffer;
}

const FORM = /^(sgn|lnk|ask|oid|pky|inv)_([0-9A-Za-z]{22})_([0-9A-Za-z]{22})_[0-9A-Za-z]{43}_([0-9A-Za-z]{6})$/;

/** A new secret: `<kind>_<tenant>_<row>_<secret>_<checksum>`. */
export function newSecret(kind: SecretKind, tenantId: TenantId, id: Uuid): { text: Sensitive<string>; hash: Buffer } {
  const body = `${kind}_${compactUuid(tenantId)}_${compactUuid(id)}_${randomText()}`;
  const text = `${body}_${checksum(body)}`;
  return { text: new Sensitive(text), hash: hashOfSecret(text) };
}

/** Returns undefined for a text that is not one of our secrets of this kind. */
export function parseSecret(kind: SecretKind, text: string): PresentedSecret | undefined {
  const [, found, tenant, row, sum] = FORM.exec(text) ?? [];
  if (found !== kind || !tenant || !row || sum !== checksum(text.slice(0, -7))) return undefined;
  const tenantId = expandUuid(tenant);
  const id = expandUuid(row);
  return tenantId && isTenantId(tenantId) && id ? { tenantId, id, hash: hashOfSecret(text) } : undefined;
}

/** 256 random bits as 43 letters and digits. */
export function randomText(): string {
  return toBase62(randomBytes(32), 43);
}
