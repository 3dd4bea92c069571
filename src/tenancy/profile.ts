import type { TenantId, Uuid } from "../base/ids.js";
import { isJsonObject, type Json, type JsonObject } from "../base/json.js";
import { searchTerm } from "../crypto/keyed-hash.js";
import { open, SealBroken, seal } from "../crypto/sealed.js";
import type { TenantKeys } from "../crypto/tenant-keys.js";

/** The identity of a member. Personal data, sealed at rest. */
export interface Profile {
  readonly email?: string;
  readonly firstName?: string;
  readonly lastName?: string;
  readonly picture?: string;
}

/**
 * Seals a profile to its member: it does not open in another member's row. The role is sealed with it, because the column
 * alone could be changed by the owner of the database.
 */
export function sealProfile(
  keys: TenantKeys,
  tenantId: TenantId,
  memberId: Uuid,
  profile: Profile,
  role: string,
): Buffer {
  const stored = JSON.stringify({ ...profile, role });
  return seal(keys.data, { tenantId, entity: memberId, field: "profile" }, Buffer.from(stored));
}

export function openProfile(keys: TenantKeys, tenantId: TenantId, memberId: Uuid, sealed: Uint8Array): Profile {
  const { email, firstName, lastName, picture } = openStored(keys, tenantId, memberId, sealed);
  return {
    ...(typeof email === "string" ? { email } : {}),
    ...(typeof firstName === "string" ? { firstName } : {}),
    ...(typeof lastName === "string" ? { lastName } : {}),
    ...(typeof picture === "string" ? { picture } : {}),
  };
}

/**
 * Checks a member's role against the sealed one. Members of earlier releases have none until their role changes.
 * @throws {SealBroken} if no server gave the member this role.
 */
export function requireSealedRole(
  keys: TenantKeys,
  tenantId: TenantId,
  { id, profile, role }: { readonly id: Uuid; readonly profile: Uint8Array; readonly role: string },
): void {
  const { role: sealed } = openStored(keys, tenantId, id, profile);
  if (sealed !== undefined && sealed !== role) throw new SealBroken("the role of a member was changed in the database");
}

function openStored(keys: TenantKeys, tenantId: TenantId, memberId: Uuid, sealed: Uint8Array): JsonObject {
  const stored: Json = JSON.parse(open(keys.data, { tenantId, entity: memberId, field: "profile" }, sealed).toString());
  if (!isJsonObject(stored)) throw new Error("a member's profile is no object");
  return stored;
}

/** The search term of an address in members and invitations. Case-insensitive. */
export function emailTerm(keys: TenantKeys, email: string): Buffer {
  return searchTerm(keys.search, "email", "", email.toLowerCase());
}
