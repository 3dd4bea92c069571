import type { TenantId, Uuid } from "../base/ids.js";
import { isJsonObject, type Json } from "../base/json.js";
import { searchTerm } from "../crypto/keyed-hash.js";
import { open, seal } from "../crypto/sealed.js";
import type { TenantKeys } from "../crypto/tenant-keys.js";

/** The identity of a member. Personal data, sealed at rest. */
export interface Profile {
  readonly email?: string;
  readonly firstName?: string;
  readonly lastName?: string;
  readonly picture?: string;
}

/** Seals a profile to its member: it does not open in another member's row. */
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

/** The search term of an address in members and invitations. Case-insensitive. */
export function emailTerm(keys: TenantKeys, email: string): Buffer {
  return searchTerm(keys.search, "email", "", email.toLowerCase());
}
