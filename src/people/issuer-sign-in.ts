import type { AuditContext } from "../audit/audit-context.js";
import type { OrdinaryTenantTransaction } from "../audit/tenant-transaction.js";
import { Fault } from "../base/fault.js";
import { newUuid } from "../base/ids.js";
import { acceptInvitationOfAddress } from "../store/people/invitation-links.js";
import { type MemberRow, readMember } from "../store/people/members.js";
import { createMember } from "../tenancy/accept-invitation.js";
import { openInvited } from "../tenancy/invitation.js";
import { emailTerm } from "../tenancy/profile.js";
import { finishFirstFactor, type SignInStep } from "./finish-first-factor.js";
import { bindIdentity, memberWithIdentity } from "./identity.js";
import type { Claims } from "./issuer.js";
import { memberWithAddress } from "./sign-in-link.js";
import type { Visit } from "./visit.js";

/** @throws {Fault} permission_denied if the person is neither a member nor invited. */
export async function signInAs(
  tx: OrdinaryTenantTransaction,
  claims: Claims,
  method: "openid" | "device",
  visit: Visit,
): Promise<SignInStep> {
  const member = await memberFor(tx, claims, visit.context);
  if (!member) throw notInvited();
  const identity = { issuer: claims.issuer, subject: claims.subject };
  return finishFirstFactor(tx, member, { method, identity, secondFactorAt: claims.secondFactorAt }, visit);
}

/** The member with the identity; or else the member, or the invited person, with the verified address, who is bound. */
async function memberFor(
  tx: OrdinaryTenantTransaction,
  claims: Claims,
  context: AuditContext,
): Promise<MemberRow | null> {
  const identity = { issuer: claims.issuer, subject: claims.subject };
  const known = await memberWithIdentity(tx, identity);
  if (known) return known;
  const { email } = claims;
  if (email === undefined) {
    throw new Fault("permission_denied", "The issuer has not verified your e-mail address.");
  }
  const member = (await memberWithAddress(tx, email)) ?? (await acceptedBy(tx, email, claims, context));
  if (!member) return null;
  return (await bindIdentity(tx, member.id, identity)) ? member : null;
}

/** Makes a member of an invited person. */
async function acceptedBy(
  tx: OrdinaryTenantTransaction,
  email: string,
  { firstName, lastName }: Claims,
  context: AuditContext,
): Promise<MemberRow | null> {
  const memberId = newUuid();
  const invitation = await tx.query(acceptInvitationOfAddress, {
    term: emailTerm(tx.keys, email),
    member_id: memberId,
  });
  if (!invitation) return null;
  const invited = openInvited(tx.keys, invitation).email;
  if (invited.toLowerCase() !== email.toLowerCase()) return null;
  const names = { ...(firstName ? { firstName } : {}), ...(lastName ? { lastName } : {}) };
  createMember(tx, memberId, invitation, { profile: { email: invited, ...names }, context });
  return tx.query(readMember, memberId);
}

function notInvited(): Fault {
  return new Fault("permission_denied", "You are not a member. Ask an OWNER or ADMIN for an invitation.");
}
