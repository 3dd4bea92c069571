import { storedContainers } from "../access/assigned-containers.js";
import type { ContainerPath } from "../access/container.js";
import { isRole, type Role } from "../access/role.js";
import { newSecret } from "../access/secret-text.js";
import type { Actor } from "../audit/actor.js";
import { logEntry } from "../audit/log-entry.js";
import type { TenantTransaction } from "../audit/tenant-transaction.js";
import { HOUR_MS } from "../base/clock.js";
import { Fault } from "../base/fault.js";
import { newUuid, type TenantId, type Uuid } from "../base/ids.js";
import { isJsonObject, type Json } from "../base/json.js";
import { SealBroken } from "../crypto/sealed.js";
import { sealedRecord } from "../crypto/sealed-record.js";
import type { Sensitive } from "../crypto/sensitive.js";
import type { TenantKeys } from "../crypto/tenant-keys.js";
import { scheduleDue } from "../store/jobs/due.js";
import type { MemberRow } from "../store/people/members.js";
import { insertSignIn, type SignInRow, stepUpSignIn } from "../store/people/sign-ins.js";
import { AAD_COLUMNS } from "../store/tenancy/sealed-columns.js";
import { openSealedRights, requireSealedRole } from "../tenancy/profile.js";
import type { Visit } from "./visit.js";

/** The absolute end of a sign-in. */
const LIFETIME_MS = 12 * HOUR_MS;
export const SIGN_IN_SECONDS = LIFETIME_MS / 1_000;

/** How a person signed in: by a mailed link, by a link of the operator, at an OpenID Connect issuer, there by a device code. */
export const METHODS = ["link", "operator", "openid", "device"] as const;
export type SignInMethod = (typeof METHODS)[number];

/** An account at an OpenID Connect issuer. */
export interface Identity {
  readonly issuer: string;
  readonly subject: string;
}

export interface SignInDetails {
  /** The role at sign-in. A sign-in ends when the member's role is another. */
  readonly role: Role;
  /** The containers assigned to the member. A change of them ends sign-ins. */
  readonly containers: readonly ContainerPath[];
  readonly address: string;
  readonly client: string;
  readonly identity: Identity | undefined;
}

export interface StartedSignIn {
  readonly kind: "signed_in";
  readonly id: Uuid;
  readonly tenantId: TenantId;
  readonly memberId: Uuid;
  /** The value of the cookie, known only now. */
  readonly token: Sensitive<string>;
}

/** How a person proved who they are, and what the sign-in takes over from the one that it replaces, or from the issuer. */
export interface FirstFactor {
  readonly method: SignInMethod;
  readonly identity?: Identity | undefined;
  /** The latest end. Absent: 12 hours from now. */
  readonly until?: Date | undefined;
  /** When the person proved a second factor. */
  readonly secondFactorAt?: Date | undefined;
}

export function startSignIn(
  tx: TenantTransaction,
  member: Pick<MemberRow, "id" | "user_id" | "created_by" | "role" | "profile">,
  { method, identity, until, secondFactorAt }: FirstFactor,
  { address, client, context }: Pick<Visit, "address" | "client" | "context">,
): StartedSignIn {
  const { tenantId } = tx;
  const { role } = member;
  if (!isRole(role)) throw new Error("a member of unknown role is stored");
  requireSealedRole(tx.keys, member);
  const { containers } = openSealedRights(tx.keys, member);
  const id = newUuid();
  const { text: token, hash } = newSecret("sgn", tenantId, id);
  const latest = tx.now.getTime() + LIFETIME_MS;
  const expiresAt = new Date(Math.min(latest, until?.getTime() ?? latest));
  const columns = {
    id,
    token_hash: hash,
    member_id: member.id,
    method,
    expires_at: expiresAt,
    strong_at: secondFactorAt ?? null,
  };
  tx.enqueue(insertSignIn, {
    ...columns,
    details: signInRecord.seal(tx.keys, columns, { role, containers, address, client, identity }),
  });
  scheduleDue(tx, { kind: "sign_in", at: expiresAt });
  const actor: Actor = { id: member.user_id, type: "user", keyId: id, context };
  tx.record(logEntry("sign_in", id, "create", { actor, remark: method }));
  return { kind: "signed_in", id, tenantId, memberId: member.id, token };
}

/** Records that the person of a sign-in proved a second factor now. */
export function stepUp(tx: TenantTransaction, row: SignInRow): void {
  const details = openSignIn(tx.keys, row);
  const columns = { ...row, strong_at: tx.now };
  tx.enqueue(stepUpSignIn, {
    id: row.id,
    strong_at: tx.now,
    details: signInRecord.seal(tx.keys, columns, details),
  });
}

export const signInRecord = sealedRecord({
  field: "sign_in",
  bound: AAD_COLUMNS.sign_ins,
  write: ({ identity, containers, ...shown }: SignInDetails) => ({ ...shown, containers, identity }),
  read({ role, address, client, identity, containers }): SignInDetails {
    if (typeof role !== "string" || !isRole(role)) throw new SealBroken("a sign-in has an unknown role");
    return {
      role,
      containers: storedContainers(containers),
      address: String(address),
      client: String(client),
      identity: identityIn(identity),
    };
  },
});

/** When the person signed in. A switch of tenants makes a new row and keeps this time. */
export function signedInAt({ expires_at }: Pick<SignInRow, "expires_at">): Date {
  return new Date(expires_at.getTime() - LIFETIME_MS);
}

/** The first passkey locks others out of the account, so a cookie that was stolen earlier must not suffice. */
const FRESH_MS = 10 * 60_000;

/**
 * For a change of passkeys by a person who has no second factor to prove.
 * @param what such as "add your first passkey".
 * @throws {Fault} unprocessable.
 */
export function requireJustSignedIn(signIn: Pick<SignInRow, "expires_at"> | null, now: Date, what: string): void {
  if (signIn && now.getTime() - signedInAt(signIn).getTime() <= FRESH_MS) return;
  throw new Fault("unprocessable", `Sign in again, and ${what} within 10 minutes.`);
}

/** @throws {SealBroken} if no server wrote the sign-in. */
export function openSignIn(keys: TenantKeys, row: SignInRow): SignInDetails {
  return signInRecord.open(keys, row, row.details);
}

export function identityIn(stored: Json | undefined): Identity | undefined {
  if (!isJsonObject(stored)) return undefined;
  return { issuer: String(stored.issuer), subject: String(stored.subject) };
}
