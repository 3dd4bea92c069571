import { newUuid, type TenantId, type Uuid } from "../base/ids.js";
import { searchTerm } from "../crypto/keyed-hash.js";
import { encodeAad, open, type SealContext, seal } from "../crypto/sealed.js";
import type { TenantKeys } from "../crypto/tenant-keys.js";
import {
  findMemberIdentity,
  hasMemberIdentity,
  insertMemberIdentity,
  type MemberIdentityRow,
} from "../store/people/member-identities.js";
import { type MemberRow, readMember } from "../store/people/members.js";
import { AAD_COLUMNS } from "../store/tenancy/sealed-rows.js";
import type { Transaction } from "../store/transactions/transaction.js";
import type { Identity } from "./sign-in.js";

/**
 * The member with an identity. Once bound, a member is found by issuer and subject only: an issuer may reassign the address
 * of a person who left.
 */
export async function memberWithIdentity(
  tx: Transaction,
  keys: TenantKeys,
  identity: Identity,
): Promise<MemberRow | null> {
  const row = await tx.query(findMemberIdentity, termOf(keys, identity));
  if (!row) return null;
  open(keys.data, proofPlace(tx.tenantId, row), row.proof);
  return tx.query(readMember, row.member_id);
}

/** Binds a member to an identity. Returns false if the member has one already. */
export async function bindIdentity(
  tx: Transaction,
  keys: TenantKeys,
  memberId: Uuid,
  identity: Identity,
): Promise<boolean> {
  if (await tx.query(hasMemberIdentity, memberId)) return false;
  const columns = { id: newUuid(), member_id: memberId, identity_term: termOf(keys, identity) };
  const proof = seal(keys.data, proofPlace(tx.tenantId, columns), Buffer.alloc(0));
  tx.enqueue(insertMemberIdentity, { ...columns, proof });
  return true;
}

function termOf(keys: TenantKeys, { issuer, subject }: Identity): Buffer {
  return searchTerm(keys.search, "identity", issuer, subject);
}

function proofPlace(tenantId: TenantId, row: Omit<MemberIdentityRow, "proof">): SealContext {
  return { tenantId, entity: row.id, field: "member_identity", bound: encodeAad(row, AAD_COLUMNS.member_identities) };
}
