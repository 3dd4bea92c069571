import { callingPerson, type PersonPrincipal } from "../access/caller.js";
import type { CallerTransaction, OrdinaryCallerTransaction } from "../access/caller-transaction.js";
import { isAdministrator } from "../access/role.js";
import { ANY_ENTITY_ID } from "../audit/log-entry.js";
import type { TenantTransaction } from "../audit/tenant-transaction.js";
import { Fault, notFound } from "../base/fault.js";
import type { TenantId, Uuid } from "../base/ids.js";
import type { TenantKeys } from "../crypto/tenant-keys.js";
import { readMember } from "../store/people/members.js";
import { listPasskeyRows } from "../store/people/passkeys.js";
import { deleteSignIn, listSignIns, readSignIn, readSignInOwner, type SignInRow } from "../store/people/sign-ins.js";
import { incrementAuthRevision, readTenant } from "../store/tenancy/tenants.js";
import { openProfile, openSealedRights, type Profile } from "../tenancy/profile.js";
import { secondFactorUntil } from "./second-factor-time.js";
import { openSignIn } from "./sign-in.js";

export interface SignIn {
  readonly id: Uuid;
  readonly memberId: Uuid;
  readonly method: string;
  readonly address: string;
  readonly client: string;
  readonly createdAt: Date;
  readonly lastSeenAt: Date;
  readonly expiresAt: Date;
}

export interface SignedInPerson {
  readonly tenantId: TenantId;
  readonly tenantName: string;
  readonly person: Pick<PersonPrincipal, "memberId" | "userId" | "signInId"> & { readonly role: string };
  readonly profile: Profile;
  /** Where a DEVELOPER may give applications more than token:create. */
  readonly containers: readonly string[];
  readonly signIn: SignIn;
  readonly hasPasskey: boolean;
  /** Until when the last proof of a second factor counts. */
  readonly secondFactorUntil: Date | undefined;
}

export async function identify(
  tx: TenantTransaction,
  { memberId, signInId }: Pick<PersonPrincipal, "memberId" | "signInId">,
): Promise<SignedInPerson> {
  const [tenant, member, row, passkeys] = await Promise.all([
    tx.query(readTenant, tx.tenantId),
    tx.query(readMember, memberId),
    tx.query(readSignIn, signInId),
    tx.query(listPasskeyRows, memberId),
  ]);
  if (!tenant || !member || !row) throw new Fault("unauthenticated", "The sign-in has ended. Sign in again.");
  return {
    tenantId: tx.tenantId,
    tenantName: tenant.name,
    person: { memberId, userId: member.user_id, signInId, role: member.role },
    profile: openProfile(tx.keys, member),
    containers: openSealedRights(tx.keys, member).containers,
    signIn: signInOf(tx.keys, row),
    hasPasskey: passkeys.length > 0,
    secondFactorUntil: secondFactorUntil(row.strong_at, tx.now),
  };
}

/**
 * The sign-ins of a member that are not over, newest first.
 * @throws {Fault} permission_denied for those of others, unless the caller is OWNER or ADMIN.
 */
export async function listMemberSignIns(
  tx: CallerTransaction,
  memberId: Uuid,
  idleMs: number,
): Promise<readonly SignIn[]> {
  const own = callingPerson(tx.caller);
  if (memberId !== own.memberId) {
    requireAdministrator(own, "see the sign-ins of others");
    if (!(await tx.query(readMember, memberId))) throw notFound("member");
  }
  const rows = await tx.query(listSignIns, memberId);
  tx.log("sign_in", ANY_ENTITY_ID, "list");
  const isOpen = (row: SignInRow) => tx.now.getTime() - row.last_seen_at.getTime() < idleMs;
  return rows.filter(isOpen).map((row) => signInOf(tx.keys, row));
}

/**
 * Ends a sign-in. Requests of it that are under way fail.
 * @throws {Fault} permission_denied for those of others, unless the caller is OWNER, or ADMIN and they are not the
 *   OWNER's.
 */
export async function endSignIn(tx: OrdinaryCallerTransaction, id: Uuid): Promise<void> {
  const own = callingPerson(tx.caller);
  const owner = await tx.query(readSignInOwner, id);
  if (!owner) throw notFound("sign-in");
  if (owner.member_id !== own.memberId) {
    requireAdministrator(own, "end the sign-ins of others");
    if (owner.role === "OWNER") {
      throw new Fault("permission_denied", "Your role ADMIN may not end a sign-in of the OWNER; OWNER may.");
    }
  }
  if (!(await tx.query(deleteSignIn, id))) throw notFound("sign-in");
  tx.enqueue(incrementAuthRevision, tx.tenantId);
  tx.log("sign_in", id, "delete");
}

export function requireAdministrator({ role }: PersonPrincipal, what: string): void {
  if (isAdministrator(role)) return;
  throw new Fault("permission_denied", `Your role ${role} may not ${what}; OWNER and ADMIN may.`);
}

function signInOf(keys: TenantKeys, row: SignInRow): SignIn {
  const { address, client } = openSignIn(keys, row);
  return {
    id: row.id,
    memberId: row.member_id,
    method: row.method,
    address,
    client,
    createdAt: row.created_at,
    lastSeenAt: row.last_seen_at,
    expiresAt: row.expires_at,
  };
}
