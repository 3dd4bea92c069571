import type { Actor } from "../audit/actor.js";
import { logEntry } from "../audit/log-entry.js";
import { notFound } from "../base/fault.js";
import type { TenantId, Uuid } from "../base/ids.js";
import { isJsonObject, type Json } from "../base/json.js";
import { encodeAad, open, SealBroken, type SealContext, seal } from "../crypto/sealed.js";
import type { TenantKeys } from "../crypto/tenant-keys.js";
import { writeLog } from "../store/audit/audit-logs.js";
import { lockMember, type MemberRow, updateMemberProfile } from "../store/people/members.js";
import { deletePasskeyRow, deletePasskeysOf, listPasskeyRows, type PasskeyRow } from "../store/people/passkeys.js";
import { AAD_COLUMNS } from "../store/tenancy/sealed-rows.js";
import type { OrdinaryTransaction, Transaction } from "../store/transactions/transaction.js";
import { endAccess } from "../tenancy/member.js";
import { isSealedWithPasskey, openProfile, sealProfile } from "../tenancy/profile.js";

/** A credential of Web Authentication, as the vault keeps it. */
export interface Credential {
  /** Base64url, as browsers name it. */
  readonly credentialId: string;
  /** COSE. */
  readonly publicKey: Uint8Array<ArrayBuffer>;
  /** How often the authenticator says it was used. Synced passkeys always say 0. */
  readonly counter: number;
  readonly transports: readonly string[];
  readonly isSynced: boolean;
}

/** A passkey of a member. */
export interface Passkey {
  readonly id: Uuid;
  readonly memberId: Uuid;
  /** What its owner calls it. */
  readonly name: string;
  readonly credential: Credential;
  readonly createdAt: Date;
  readonly lastUsedAt: Date | null;
}

/** The passkeys of a member, oldest first. */
export async function listMemberPasskeys(
  tx: Transaction,
  keys: TenantKeys,
  memberId: Uuid,
): Promise<readonly Passkey[]> {
  const rows = await tx.query(listPasskeyRows, memberId);
  return rows.map((row) => openPasskey(keys, tx.tenantId, row));
}

/** Whether sign-ins of a member need a passkey. */
export async function needsPasskey(
  tx: Transaction,
  keys: TenantKeys,
  member: Pick<MemberRow, "id" | "profile">,
): Promise<boolean> {
  if (isSealedWithPasskey(keys, tx.tenantId, member)) return true;
  // A replica of an earlier release writes profiles without this mark.
  return (await tx.query(listPasskeyRows, member.id)).length > 0;
}

/** Seals the role in a member's profile, and whether sign-ins need a passkey. */
export function requirePasskey(tx: Transaction, keys: TenantKeys, member: MemberRow, needs: boolean): void {
  const { id, role } = member;
  const profile = openProfile(keys, tx.tenantId, id, member.profile);
  const sealed = sealProfile(keys, tx.tenantId, id, profile, { role, needsPasskey: needs });
  tx.enqueue(updateMemberProfile, { id, profile: sealed });
}

/** Removes one of a member's passkeys. After the last one, sign-ins need none. */
export async function deletePasskey(
  tx: OrdinaryTransaction,
  keys: TenantKeys,
  actor: Actor,
  memberId: Uuid,
  id: Uuid,
): Promise<void> {
  const member = await lockMember(tx, memberId);
  const rows = await tx.query(listPasskeyRows, memberId);
  if (!member || !rows.some((row) => row.id === id)) throw notFound("passkey");
  tx.enqueue(deletePasskeyRow, id);
  if (rows.length === 1) requirePasskey(tx, keys, member, false);
  writeLog(tx, logEntry(actor, "passkey", id, "delete"));
}

/** Removes all passkeys of a member and ends the member's sign-ins. Without an actor, the operator does. */
export async function resetPasskeys(
  tx: OrdinaryTransaction,
  keys: TenantKeys,
  actor: Actor | undefined,
  memberId: Uuid,
): Promise<void> {
  const member = await lockMember(tx, memberId);
  if (!member) throw notFound("member");
  const rows = await tx.query(listPasskeyRows, memberId);
  tx.enqueue(deletePasskeysOf, memberId);
  requirePasskey(tx, keys, member, false);
  endAccess(tx, memberId);
  for (const { id } of rows) writeLog(tx, logEntry(actor, "passkey", id, "delete", "reset"));
  writeLog(tx, logEntry(actor, "member", memberId, "update", "passkeys reset"));
}

/** @throws {SealBroken} if no server wrote the passkey. */
export function openPasskey(keys: TenantKeys, tenantId: TenantId, row: PasskeyRow): Passkey {
  const stored: Json = JSON.parse(open(keys.data, passkeyPlace(tenantId, row), row.details).toString());
  if (!isJsonObject(stored)) throw new SealBroken("the details of a passkey are not an object");
  const { credentialId, publicKey, counter, transports, isSynced, name } = stored;
  return {
    ...{ id: row.id, memberId: row.member_id, name: String(name) },
    ...{ createdAt: row.created_at, lastUsedAt: row.last_used_at },
    credential: {
      ...{ credentialId: String(credentialId), counter: Number(counter), isSynced: isSynced === true },
      publicKey: new Uint8Array(Buffer.from(String(publicKey), "base64url")),
      transports: Array.isArray(transports) ? transports.map(String) : [],
    },
  };
}

/** Seals what a passkey's row does not show. */
export function sealPasskey(
  keys: TenantKeys,
  tenantId: TenantId,
  row: Place,
  { credential, name }: Pick<Passkey, "credential" | "name">,
): Buffer {
  const { credentialId, publicKey, counter, transports, isSynced } = credential;
  const encoded = Buffer.from(publicKey).toString("base64url");
  const stored = { credentialId, publicKey: encoded, counter, transports, isSynced, name };
  return seal(keys.data, passkeyPlace(tenantId, row), Buffer.from(JSON.stringify(stored)));
}

type Place = Pick<PasskeyRow, "id" | (typeof AAD_COLUMNS.passkeys)[number]>;

function passkeyPlace(tenantId: TenantId, row: Place): SealContext {
  return { tenantId, entity: row.id, field: "passkey", bound: encodeAad(row, AAD_COLUMNS.passkeys) };
}
