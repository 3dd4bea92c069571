import { createHash, randomBytes } from "node:crypto";
import { checksum } from "../access/key-text.js";
import { toBase62 } from "../base/base-n.js";
import { compactUuid, expandUuid } from "../base/compact-uuid.js";
import { isTenantId, type TenantId, type Uuid } from "../base/ids.js";
import { Sensitive } from "../crypto/sensitive.js";

export const INVITATION_PATH = "/invitations";

/** The ids in an opened link. Only its format has been checked. */
export interface PresentedLink {
  readonly tenantId: TenantId;
  readonly invitationId: Uuid;
  /** SHA-256 of the text. Only this hash of a link is stored; 256 random bits need no slow hash. */
  readonly hash: Buffer;
}

const FORM = /^inv_([0-9A-Za-z]{22})_([0-9A-Za-z]{22})_[0-9A-Za-z]{43}_([0-9A-Za-z]{6})$/;

/** A new secret that accepts an invitation: `inv_<tenant>_<invitation>_<secret>_<checksum>`. Only its hash is stored. */
export function newLink(tenantId: TenantId, invitationId: Uuid): { text: Sensitive<string>; hash: Buffer } {
  const body = `inv_${compactUuid(tenantId)}_${compactUuid(invitationId)}_${toBase62(randomBytes(32), 43)}`;
  const text = `${body}_${checksum(body)}`;
  return { text: new Sensitive(text), hash: linkHash(text) };
}

/** Parses the last part of a link's path. Returns undefined for any other text. */
export function parseLink(text: string): PresentedLink | undefined {
  const [, tenant, invitation, sum] = FORM.exec(text) ?? [];
  if (!tenant || !invitation || sum !== checksum(text.slice(0, -7))) return undefined;
  const tenantId = expandUuid(tenant);
  const invitationId = expandUuid(invitation);
  if (!tenantId || !isTenantId(tenantId) || !invitationId) return undefined;
  return { tenantId, invitationId, hash: linkHash(text) };
}

function linkHash(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
