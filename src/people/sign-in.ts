import { isRole, type Role } from "../access/role.js";
import { newSecret } from "../access/secret-text.js";
import type { Actor } from "../audit/actor.js";
import { logEntry } from "../audit/log-entry.js";
import { HOUR_MS } from "../base/clock.js";
import { newUuid, type TenantId, type Uuid } from "../base/ids.js";
import { isJsonObject, type Json, type JsonObject } from "../base/json.js";
import { encodeAad, open, SealBroken, type SealContext, seal } from "../crypto/sealed.js";
import type { Sensitive } from "../crypto/sensitive.js";
import type { TenantKeys } from "../crypto/tenant-keys.js";
import { writeLog } from "../store/audit/audit-logs.js";
import { scheduleDue } from "../store/jobs/due.js";
import type { MemberRow } from "../store/people/members.js";
import { insertSignIn, type SignInRow, stepUpSignIn } from "../store/people/sign-ins.js";
import { AAD_COLUMNS } from "../store/tenancy/sealed-rows.js";
import type { Transaction } from "../store/transactions/transaction.js";
import { requireSealedRole } from "../tenancy/profile.js";
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

/** The sealed part of a sign-in. */
export interface SignInDetails {
  /** The role at sign-in. A sign-in ends when the member's role is another. */
  readonly role: Role;
  readonly address: string;
  readonly client: string;
  readonly identity: Identity | undefined;
}

/** A sign-in that has just begun. */
export interface StartedSignIn {
  readonly kind: "signed_in";
  readonly id: Uuid;
  readonly tenantId: TenantId;
  readonly memberId: Uuid;
  /** The value of the cookie, known only now. */
  readonly token: Sensitive<string>;
}

/** What a sign-in takes over from the one that it replaces, or from the issuer. */
export interface Origin {
  readonly identity?: Identity | undefined;
  /** The latest end. Absent: 12 hours from now. */
  readonly until?: Date | undefined;
  /** When the person proved a second factor. */
  readonly secondFactorAt?: Date | undefined;
}

/** Begins a sign-in of a member, with its log row. */
export function startSignIn(
  tx: Transaction,
  keys: TenantKeys,
  member: Pick<MemberRow, "id" | "user_id" | "role" | "profile">,
  method: SignInMethod,
  { address, client, context }: Pick<Visit, "address" | "client" | "context">,
  { identity, until, secondFactorAt }: Origin = {},
): StartedSignIn {
  const { tenantId } = tx;
  const { role } = member;
  if (!isRole(role)) throw new Error("a member of unknown role is stored");
  requireSealedRole(keys, tenantId, member);
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
    details: sealSignIn(keys, tenantId, columns, { role, address, client, identity }),
  });
  scheduleDue(tx, { kind: "sign_in", at: expiresAt });
  const actor: Actor = { id: member.user_id, type: "user", keyId: id, context };
  writeLog(tx, logEntry(actor, "sign_in", id, "create", method));
  return { kind: "signed_in", id, tenantId, memberId: member.id, token };
}

/** Records that the person of a sign-in proved a second factor now. */
export function stepUp(tx: Transaction, keys: TenantKeys, row: SignInRow): void {
  const details = openSignIn(keys, tx.tenantId, row);
  const columns = { ...row, strong_at: tx.now };
  tx.enqueue(stepUpSignIn, {
    ...{ id: row.id, strong_at: tx.now, details: sealSignIn(keys, tx.tenantId, columns, details) },
  });
}

function sealSignIn(keys: TenantKeys, tenantId: TenantId, row: Place, { identity, ...details }: SignInDetails): Buffer {
  const stored: JsonObject = { ...details, ...(identity ? { identity: { ...identity } } : {}) };
  return seal(keys.data, signInPlace(tenantId, row), Buffer.from(JSON.stringify(stored)));
}

/** When the person signed in. A switch of tenants makes a new row and keeps this time. */
export function signedInAt({ expires_at }: Pick<SignInRow, "expires_at">): Date {
  return new Date(expires_at.getTime() - LIFETIME_MS);
}

/** @throws {SealBroken} if no server wrote the sign-in. */
export function openSignIn(keys: TenantKeys, tenantId: TenantId, row: SignInRow): SignInDetails {
  const stored: Json = JSON.parse(open(keys.data, signInPlace(tenantId, row), row.details).toString());
  if (!isJsonObject(stored)) throw new SealBroken("the details of a sign-in are not an object");
  const { role, address, client, identity } = stored;
  if (typeof role !== "string" || !isRole(role)) throw new SealBroken("a sign-in has an unknown role");
  return { role, address: String(address), client: String(client), identity: identityIn(identity) };
}

export function identityIn(stored: Json | undefined): Identity | undefined {
  if (!isJsonObject(stored)) return undefined;
  return { issuer: String(stored.issuer), subject: String(stored.subject) };
}

type Place = Pick<SignInRow, "id" | (typeof AAD_COLUMNS.sign_ins)[number]>;

function signInPlace(tenantId: TenantId, row: Place): SealContext {
  return { tenantId, entity: row.id, field: "sign_in", bound: encodeAad(row, AAD_COLUMNS.sign_ins) };
}
