import type { OrdinaryTenantTransaction, TenantTransaction } from "../audit/tenant-transaction.js";
import { newUuid, type Uuid } from "../base/ids.js";
import { searchTerm } from "../crypto/keyed-hash.js";
import { sealedProof } from "../crypto/sealed-record.js";
import type { TenantKeys } from "../crypto/tenant-keys.js";
import { findMemberIdentity, hasMemberIdentity, insertMemberIdentity } from "../store/people/member-identities.js";
import { lockMember, type MemberRow, readMember } from "../store/people/members.js";
import { AAD_COLUMNS } from "../store/tenancy/sealed-columns.js";
import type { Identity } from "./sign-in.js";

export const identityProof = sealedProof({ field: "member_identity", bound: AAD_COLUMNS.member_identities });

/**
 * The member with an identity. Once bound, a member is found by issuer and subject only: an issuer may reassign the address
 * of a person who left.
 */
export async function memberWithIdentity(tx: TenantTransaction, identity: Identity): Promise<MemberRow | null> {
  const row = await tx.query(findMemberIdentity, termOf(tx.keys, identity));
  if (!row) return null;
  identityProof.require(tx.keys, row);
  return tx.query(readMember, row.member_id);
}

/**
 * Binds a member to an identity. Returns false if the member has one already, or is gone. The member stays locked: of two
 * accounts with its address that sign in at once, one is bound.
 */
export async function bindIdentity(
  tx: OrdinaryTenantTransaction,
  memberId: Uuid,
  identity: Identity,
): Promise<boolean> {
  if (!(await lockMember(tx, memberId)) || (await tx.query(hasMemberIdentity, memberId))) return false;
  const columns = { id: newUuid(), member_id: memberId, identity_term: termOf(tx.keys, identity) };
  tx.enqueue(insertMemberIdentity, { ...columns, proof: identityProof.seal(tx.keys, columns) });
  return true;
}

function termOf(keys: TenantKeys, { issuer, subject }: Identity): Buffer {
  return searchTerm(keys.search, "identity", issuer, subject);
}
