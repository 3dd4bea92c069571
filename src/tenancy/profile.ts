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

/** What decides a member's sign-in and rights. */
export interface SealedRights {
  readonly role: string;
  /** Whether sign-ins need a passkey. Deleting the member's passkeys in the database does not change it. */
  readonly needsPasskey?: boolean;
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
  { role, needsPasskey = false }: SealedRights,
): Buffer {
  const stored = JSON.stringify({ ...profile, role, ...(needsPasskey ? { needsPasskey } : {}) });
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

/** Whether a member's role is sealed. Earlier releases did not seal it. */
export function isRoleSealed(
  keys: TenantKeys,
  tenantId: TenantId,
  { id, profile }: { readonly id: Uuid; readonly profile: Uint8Array },
): boolean {
  return openStored(keys, tenantId, id, profile).role !== undefined;
}

/** Whether the sealed profile of a member says that sign-ins need a passkey. */
export function isSealedWithPasskey(
  keys: TenantKeys,
  tenantId: TenantId,
  { id, profile }: { readonly id: Uuid; readonly profile: Uint8Array },
): boolean {
  return openStored(keys, tenantId, id, profile).needsPasskey === true;
}

/**
 * Checks a member's role against the sealed one. Members of earlier releases have none until they sign in.
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
  if (!isJsonObject(stored)) throw new Error("a member's profile is not an object");
  return stored;
}

/** The search term of an address in members and invitations. Case-insensitive. */
export function emailTerm(keys: TenantKeys, email: string): Buffer {
  return searchTerm(keys.search, "email", "", email.toLowerCase());
}
