import { nextRevision } from "../access/revision.js";
import { changesBetween, type LogChange } from "../audit/log-changes.js";
import type { OrdinaryTenantTransaction, TenantTransaction } from "../audit/tenant-transaction.js";
import { notFound } from "../base/fault.js";
import type { Uuid } from "../base/ids.js";
import { sealedRecord } from "../crypto/sealed-record.js";
import type { TenantKeys } from "../crypto/tenant-keys.js";
import { deleteMemberBrowsers } from "../store/people/known-browsers.js";
import { lockMember, type MemberRow, updateMemberProfile } from "../store/people/members.js";
import { deleteMemberPasskeys, listPasskeyRows, type PasskeyRow } from "../store/people/passkeys.js";
import { AAD_COLUMNS } from "../store/tenancy/sealed-columns.js";
import type { Transaction } from "../store/transactions/transaction.js";
import { endAccess } from "../tenancy/member.js";
import {
  openProfile,
  openSealedRights,
  requireSealedRole,
  type SealedRights,
  sealProfile,
} from "../tenancy/profile.js";

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

export interface Passkey {
  readonly id: Uuid;
  readonly memberId: Uuid;
  /** What its owner calls it. */
  readonly name: string;
  /** From when a proof by it will count as a second factor. Absent: it counts. */
  readonly countsFrom: Date | undefined;
  readonly credential: Credential;
  readonly createdAt: Date;
  readonly lastUsedAt: Date | null;
}

/** The passkeys of a member, oldest first. */
export async function listMemberPasskeys(tx: TenantTransaction, memberId: Uuid): Promise<readonly Passkey[]> {
  const rows = await tx.query(listPasskeyRows, memberId);
  return rows.map((row) => openPasskey(tx.keys, tx, row));
}

/**
 * Seals the role in a member's profile, and what changes of the rest that decides about sign-ins.
 * @returns the changes, for a row of the log about the member.
 */
export function sealRights(
  tx: TenantTransaction,
  member: MemberRow,
  change: Pick<SealedRights, "needsPasskey" | "hadPasskey">,
): readonly LogChange[] {
  const { id, role } = member;
  const profile = openProfile(tx.keys, member);
  requireSealedRole(tx.keys, member);
  const former = openSealedRights(tx.keys, member);
  const changed = { ...change, revision: nextRevision(former.revision, tx.now) };
  const sealed = sealProfile(tx.keys, member, profile, { ...former, ...changed, role });
  tx.enqueue(updateMemberProfile, { id, profile: sealed });
  return changesBetween(former, changed);
}

/** Removes all passkeys of a member and ends the member's sign-ins. */
export async function resetPasskeys(tx: OrdinaryTenantTransaction, memberId: Uuid): Promise<void> {
  const member = await lockMember(tx, memberId);
  if (!member) throw notFound("member");
  const rows = await tx.query(listPasskeyRows, memberId);
  tx.enqueue(deleteMemberPasskeys, memberId);
  tx.enqueue(deleteMemberBrowsers, memberId);
  const changes = sealRights(tx, member, { needsPasskey: false });
  endAccess(tx, memberId);
  for (const { id } of rows) tx.log("passkey", id, "delete", "reset");
  tx.log("member", memberId, "update", { remark: "passkeys reset", changes });
}

/** @throws {SealBroken} if no server wrote the passkey. */
export function openPasskey(keys: TenantKeys, { now }: Pick<Transaction, "now">, row: PasskeyRow): Passkey {
  const { countsFrom, ...shown } = passkeyRecord.open(keys, row, row.details);
  return {
    id: row.id,
    memberId: row.member_id,
    ...shown,
    countsFrom: countsFrom && countsFrom > now ? countsFrom : undefined,
    createdAt: row.created_at,
    lastUsedAt: row.last_used_at,
  };
}

export const passkeyRecord = sealedRecord({
  field: "passkey",
  bound: AAD_COLUMNS.passkeys,
  write({ credential, name, countsFrom }: SealedPasskey) {
    const { credentialId, publicKey, counter, transports, isSynced } = credential;
    const encoded = Buffer.from(publicKey).toString("base64url");
    const waits = countsFrom ? { countsFrom: countsFrom.getTime() } : {};
    return { credentialId, publicKey: encoded, counter, transports, isSynced, name, ...waits };
  },
  read: ({ credentialId, publicKey, counter, transports, isSynced, name, countsFrom }): SealedPasskey => ({
    name: String(name),
    countsFrom: typeof countsFrom === "number" ? new Date(countsFrom) : undefined,
    credential: {
      credentialId: String(credentialId),
      counter: Number(counter),
      isSynced: isSynced === true,
      publicKey: new Uint8Array(Buffer.from(String(publicKey), "base64url")),
      transports: Array.isArray(transports) ? transports.map(String) : [],
    },
  }),
});

/** What a passkey's row does not show. */
export type SealedPasskey = Pick<Passkey, "credential" | "name" | "countsFrom">;

/** Whether a proof by a passkey counts as a second factor. */
export function counts({ countsFrom }: Pick<Passkey, "countsFrom">): boolean {
  return countsFrom === undefined;
}
