import { storedContainers } from "../access/assigned-containers.js";
import type { ContainerPath } from "../access/container.js";
import { searchTerm } from "../crypto/keyed-hash.js";
import { SealBroken } from "../crypto/sealed.js";
import { sealedRecord } from "../crypto/sealed-record.js";
import type { TenantKeys } from "../crypto/tenant-keys.js";
import type { MemberRow } from "../store/people/members.js";
import { AAD_COLUMNS } from "../store/tenancy/sealed-columns.js";

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
  /** Where a DEVELOPER may give applications more than token:create. */
  readonly containers?: readonly ContainerPath[];
  /** Whether the member has ever added a passkey. */
  readonly hadPasskey?: boolean;
  /** The number of changes of all this, by which `audit verify` finds a row that was put back. */
  readonly revision?: number;
}

export type BoundMember = Pick<MemberRow, "id" | (typeof AAD_COLUMNS.members)[number]>;

type SealedMember = BoundMember & Pick<MemberRow, "profile">;

/**
 * Seals a profile to its member: it does not open in another member's row. The role is sealed with it, because the column
 * alone could be changed by the owner of the database.
 */
export function sealProfile(keys: TenantKeys, member: BoundMember, profile: Profile, rights: SealedRights): Buffer {
  return profileRecord.seal(keys, member, { ...profile, ...rights });
}

const profileRecord = sealedRecord({
  field: "profile",
  bound: AAD_COLUMNS.members,
  write: ({ role, needsPasskey, containers = [], hadPasskey, revision = 0, ...profile }: Profile & SealedRights) => ({
    ...profile,
    role,
    revision,
    ...(needsPasskey ? { needsPasskey } : {}),
    ...(containers.length > 0 ? { containers } : {}),
    ...(hadPasskey ? { hadPasskey } : {}),
  }),
  read: (stored) => stored,
});

export function openProfile(keys: TenantKeys, member: SealedMember): Profile {
  const { email, firstName, lastName, picture } = profileRecord.open(keys, member, member.profile);
  return {
    ...(typeof email === "string" ? { email } : {}),
    ...(typeof firstName === "string" ? { firstName } : {}),
    ...(typeof lastName === "string" ? { lastName } : {}),
    ...(typeof picture === "string" ? { picture } : {}),
  };
}

/** What is sealed of a member's rights beside the role. */
export function openSealedRights(keys: TenantKeys, member: SealedMember): Required<Omit<SealedRights, "role">> {
  const { needsPasskey, containers, hadPasskey, revision } = profileRecord.open(keys, member, member.profile);
  return {
    needsPasskey: needsPasskey === true,
    containers: storedContainers(containers),
    hadPasskey: hadPasskey === true,
    revision: Number(revision),
  };
}

/**
 * Checks a member's role against the sealed one.
 * @throws {SealBroken} if no server gave the member this role.
 */
export function requireSealedRole(keys: TenantKeys, member: SealedMember & Pick<MemberRow, "role">): void {
  const { role } = profileRecord.open(keys, member, member.profile);
  if (role !== member.role) throw new SealBroken("the role of a member was changed in the database");
}

/** The search term of an address in members and invitations. Case-insensitive. */
export function emailTerm(keys: TenantKeys, email: string): Buffer {
  return searchTerm(keys.search, "email", "", email.toLowerCase());
}
