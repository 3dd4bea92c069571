import type { TenantId, Uuid } from "../base/ids.js";
import { isJsonObject, type Json } from "../base/json.js";
import { searchTerm } from "../crypto/keyed-hash.js";
import { open, seal } from "../crypto/sealed.js";
import type { TenantKeys } from "../crypto/tenant-keys.js";

/** Who a member is. Personal data: sealed where it is stored. */
export interface Profile {
  readonly email?: string;
  readonly firstName?: string;
  readonly lastName?: string;
  readonly picture?: string;
}

/** Seals a profile to its member, as rows of other members cannot open it. */
export function sealProfile(keys: TenantKeys, tenantId: TenantId, memberId: Uuid, profile: Profile): Buffer {
  return seal(keys.data, { tenantId, entity: memberId, field: "profile" }, Buffer.from(JSON.stringify(profile)));
}

export function openProfile(keys: TenantKeys, tenantId: TenantId, memberId: Uuid, sealed: Uint8Array): Profile {
  const stored: Json = JSON.parse(open(keys.data, { tenantId, entity: memberId, field: "profile" }, sealed).toString());
  if (!isJsonObject(stored)) throw new Error("a member's profile is no object");
  const { email, firstName, lastName, picture } = stored;
  return {
    ...(typeof email === "string" ? { email } : {}),
    ...(typeof firstName === "string" ? { firstName } : {}),
    ...(typeof lastName === "string" ? { lastName } : {}),
    ...(typeof picture === "string" ? { picture } : {}),
  };
}

/** An address as a term to find members and invitations by. Case does not matter. */
export function emailTerm(keys: TenantKeys, email: string): Buffer {
  return searchTerm(keys.search, "email", "", email.toLowerCase());
}
