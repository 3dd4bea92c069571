import { nextRevision } from "../access/revision.js";
import { type PresentedSecret, parseSecret } from "../access/secret-text.js";
import type { Actor } from "../audit/actor.js";
import type { AuditContext } from "../audit/audit-context.js";
import { changesBetween } from "../audit/log-changes.js";
import { logEntry } from "../audit/log-entry.js";
import type { TenantTransaction } from "../audit/tenant-transaction.js";
import { newUuid, type TenantId } from "../base/ids.js";
import { scheduleDue } from "../store/jobs/due.js";
import { deleteInvitationMessages } from "../store/jobs/outbox.js";
import { acceptInvitationRow, findLinkedInvitation, type LinkedInvitation } from "../store/people/invitation-links.js";
import { insertMember } from "../store/people/members.js";
import { unshareMail } from "../store/people/sign-in-requests.js";
import { readTenant } from "../store/tenancy/tenants.js";
import { openInvited } from "./invitation.js";
import { type Profile, sealProfile } from "./profile.js";
import { sharedMailKey } from "./sign-in-mail.js";
import type { Tenants } from "./tenants.js";

/** The part of an invitation that the holder of its link may see. */
export interface OpenedInvitation {
  readonly tenantId: TenantId;
  readonly tenantName: string;
  readonly email: string;
  readonly isAccepted: boolean;
}

export type OwnNames = Pick<Profile, "firstName" | "lastName">;

export class InvitationAcceptance {
  readonly #tenants: Tenants;

  constructor(tenants: Tenants) {
    this.#tenants = tenants;
  }

  /** The invitation of a link; undefined if the link does not work, for any reason. Changes nothing. */
  async get(text: string): Promise<OpenedInvitation | undefined> {
    const link = parseSecret("inv", text);
    if (!link) return undefined;
    const tenant = await this.#tenants.find(link.tenantId);
    return tenant?.shared(async (tx) => {
      const [invitation, row] = await Promise.all([
        tx.query(findLinkedInvitation, link),
        tx.query(readTenant, link.tenantId),
      ]);
      if (!invitation || !row) return undefined;
      return {
        tenantId: link.tenantId,
        tenantName: row.name,
        email: openInvited(tx.keys, invitation).email,
        isAccepted: invitation.member_id !== null,
      };
    });
  }

  /** Makes the holder of the link a member, once: accepting again changes nothing and is not an error. */
  async accept(text: string, names: OwnNames, context: AuditContext): Promise<OpenedInvitation | undefined> {
    const link = parseSecret("inv", text);
    const opened = link && (await this.get(text));
    if (!opened || opened.isAccepted) return opened;
    const profile = { email: opened.email, ...names };
    const tenant = await this.#tenants.of(link.tenantId);
    const isOpen = await tenant.ordinary((tx) => accept(tx, link, { profile, context }));
    return isOpen ? { ...opened, isAccepted: true } : undefined;
  }
}

interface Accepting {
  readonly profile: Profile;
  readonly context: AuditContext;
}

/** Returns whether the link still works. Of two concurrent calls, one creates the member and the other finds it. */
async function accept(tx: TenantTransaction, { id, hash }: PresentedSecret, by: Accepting): Promise<boolean> {
  const presented = { id, hash };
  const memberId = newUuid();
  const isFirst = await tx.query(acceptInvitationRow, { ...presented, member_id: memberId });
  const invitation = await tx.query(findLinkedInvitation, presented);
  if (isFirst && invitation) createMember(tx, memberId, invitation, by);
  return invitation !== null && invitation.member_id !== null;
}

export function createMember(
  tx: TenantTransaction,
  id: LinkedInvitation["id"],
  invitation: LinkedInvitation,
  { profile, context }: Accepting,
): void {
  const { email, role, containers } = openInvited(tx.keys, invitation);
  const userId = newUuid();
  const columns = { id, user_id: userId, created_by: userId };
  const actor: Actor = { id: userId, type: "user", keyId: undefined, context };
  tx.enqueue(insertMember, {
    ...columns,
    role,
    profile: sealProfile(tx.keys, columns, profile, { role, containers, revision: nextRevision(0, tx.now) }),
    email_term: invitation.email_term,
  });
  // A mail that was asked for before there was a member is not sent, and must not stand for the member's first.
  tx.enqueue(unshareMail, sharedMailKey(tx.keys, { email }, tx.now));
  tx.enqueue(deleteInvitationMessages, invitation.id);
  scheduleDue(tx, { kind: "invitation", at: invitation.expires_at });
  tx.record(logEntry("invitation", invitation.id, "accept", { actor }));
  tx.record(logEntry("member", id, "create", { actor, changes: changesBetween(undefined, { role, containers }) }));
}
