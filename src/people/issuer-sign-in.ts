import type { AuditContext } from "../audit/audit-context.js";
import { Fault } from "../base/fault.js";
import { newUuid } from "../base/ids.js";
import type { TenantKeys } from "../crypto/tenant-keys.js";
import { acceptInvitationOfAddress } from "../store/people/invitation-links.js";
import { type MemberRow, readMember } from "../store/people/members.js";
import type { OrdinaryTransaction } from "../store/transactions/transaction.js";
import { createMember } from "../tenancy/accept-invitation.js";
import { openEmail } from "../tenancy/invitation.js";
import { emailTerm } from "../tenancy/profile.js";
import { finishFirstFactor, type SignInStep } from "./finish-first-factor.js";
import { bindIdentity, memberWithIdentity } from "./identity.js";
import type { Claims } from "./issuer.js";
import { memberWithAddress } from "./sign-in-link.js";
import type { Visit } from "./visit.js";

/**
 * Signs in the person whom the issuer identified.
 * @throws {Fault} permission_denied if the person is neither a member nor invited.
 */
export async function signInAs(
  tx: OrdinaryTransaction,
  keys: TenantKeys,
  claims: Claims,
  method: "openid" | "device",
  visit: Visit,
): Promise<SignInStep> {
  const member = await memberFor(tx, keys, claims, visit.context);
  if (!member) throw notInvited();
  const identity = { issuer: claims.issuer, subject: claims.subject };
  return finishFirstFactor(tx, keys, member, method, visit, { identity, secondFactorAt: claims.secondFactorAt });
}

/** The member with the identity; or else the member, or the invited person, with the verified address, who is bound. */
async function memberFor(
  tx: OrdinaryTransaction,
  keys: TenantKeys,
  claims: Claims,
  context: AuditContext,
): Promise<MemberRow | null> {
  const identity = { issuer: claims.issuer, subject: claims.subject };
  const known = await memberWithIdentity(tx, keys, identity);
  if (known) return known;
  const { email } = claims;
  if (email === undefined) {
    throw new Fault("permission_denied", "The issuer has not verified your e-mail address.");
  }
  const member = (await memberWithAddress(tx, keys, email)) ?? (await acceptedBy(tx, keys, email, claims, context));
  if (!member) return null;
  return (await bindIdentity(tx, keys, member.id, identity)) ? member : null;
}

/** Makes a member of an invited person. */
async function acceptedBy(
  tx: OrdinaryTransaction,
  keys: TenantKeys,
  email: string,
  { firstName, lastName }: Claims,
  context: AuditContext,
): Promise<MemberRow | null> {
  const memberId = newUuid();
  const invitation = await tx.query(acceptInvitationOfAddress, { term: emailTerm(keys, email), member_id: memberId });
  if (!invitation) return null;
  const invited = openEmail(keys, tx.tenantId, invitation);
  if (invited.toLowerCase() !== email.toLowerCase()) return null;
  const names = { ...(firstName ? { firstName } : {}), ...(lastName ? { lastName } : {}) };
  createMember(tx, keys, memberId, invitation, { profile: { email: invited, ...names }, context });
  return tx.query(readMember, memberId);
}

function notInvited(): Fault {
  return new Fault("permission_denied", "You are not a member. Ask an OWNER or ADMIN for an invitation.");
}
