import type { Actor } from "../audit/actor.js";
import type { AuditContext } from "../audit/audit-context.js";
import { changesBetween } from "../audit/log-changes.js";
import { logEntry } from "../audit/log-entry.js";
import { asServer } from "../audit/tenant-database.js";
import type { TenantTransaction } from "../audit/tenant-transaction.js";
import type { TenantId } from "../base/ids.js";
import { newUuid } from "../base/ids.js";
import type { Database } from "../store/database.js";
import { scheduleDue } from "../store/jobs/due.js";
import { deleteMessagesOf } from "../store/jobs/outbox.js";
import { acceptInvitationRow, findLinkedInvitation, type LinkedInvitation } from "../store/people/invitation-links.js";
import { insertMember } from "../store/people/members.js";
import { unshareMail } from "../store/people/sign-in-requests.js";
import { readTenant } from "../store/tenancy/tenants.js";
import { openInvited } from "./invitation.js";
import { type PresentedLink, parseLink } from "./invitation-link.js";
import type { Keyring } from "./keyring.js";
import { type Profile, sealProfile } from "./profile.js";
import { sharedMailKey } from "./sign-in-mail.js";

/** The part of an invitation that the holder of its link may see. */
export interface OpenedInvitation {
  readonly tenantId: TenantId;
  readonly tenantName: string;
  readonly email: string;
  readonly isAccepted: boolean;
}

/** The names that people give when they accept. */
export type OwnNames = Pick<Profile, "firstName" | "lastName">;

/** Shows and accepts invitations by link. */
export class InvitationAcceptance {
  readonly #database: Database;
  readonly #keyring: Keyring;

  constructor(database: Database, keyring: Keyring) {
    this.#database = database;
    this.#keyring = keyring;
  }

  /** The invitation of a link; undefined if the link does not work, for any reason. Changes nothing. */
  async get(text: string): Promise<OpenedInvitation | undefined> {
    const link = parseLink(text);
    const found = link && (await this.#find(link));
    if (!found) return undefined;
    const keys = await this.#keyring.of(link.tenantId);
    return {
      tenantId: link.tenantId,
      tenantName: found.tenantName,
      email: openInvited(keys, found.invitation).email,
      isAccepted: found.invitation.member_id !== null,
    };
  }

  /** Makes the holder of the link a member, once: accepting again changes nothing and is not an error. */
  async accept(text: string, names: OwnNames, context: AuditContext): Promise<OpenedInvitation | undefined> {
    const link = parseLink(text);
    const opened = link && (await this.get(text));
    if (!opened || opened.isAccepted) return opened;
    const keys = await this.#keyring.of(link.tenantId);
    const profile = { email: opened.email, ...names };
    const isOpen = await asServer(this.#database, keys).ordinary((tx) => accept(tx, link, { profile, context }));
    return isOpen ? { ...opened, isAccepted: true } : undefined;
  }

  async #find(link: PresentedLink) {
    const { tenantId, invitationId: id, hash } = link;
    const [invitation, tenant] = await this.#database
      .of(tenantId)
      .shared((tx) => Promise.all([tx.query(findLinkedInvitation, { id, hash }), tx.query(readTenant, tenantId)]));
    return invitation && tenant ? { invitation, tenantName: tenant.name } : undefined;
  }
}

/** The person who accepts, and the request by which they do. */
interface Accepting {
  readonly profile: Profile;
  readonly context: AuditContext;
}

/** Returns whether the link still works. Of two concurrent calls, one creates the member and the other finds it. */
async function accept(tx: TenantTransaction, link: PresentedLink, by: Accepting): Promise<boolean> {
  const presented = { id: link.invitationId, hash: link.hash };
  const memberId = newUuid();
  const isFirst = await tx.query(acceptInvitationRow, { ...presented, member_id: memberId });
  const invitation = await tx.query(findLinkedInvitation, presented);
  if (isFirst && invitation) createMember(tx, memberId, invitation, by);
  return invitation !== null && invitation.member_id !== null;
}

/** Creates the member of an accepted invitation. */
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
    profile: sealProfile(tx.keys, columns, profile, { role, containers }),
    email_term: invitation.email_term,
  });
  // A mail that was asked for before there was a member is not sent, and must not stand for the member's first.
  tx.enqueue(unshareMail, sharedMailKey(tx.keys, { email }, tx.now));
  tx.enqueue(deleteMessagesOf, invitation.id);
  scheduleDue(tx, { kind: "invitation", at: invitation.expires_at });
  tx.record(logEntry(actor, "invitation", invitation.id, "accept"));
  tx.record(logEntry(actor, "member", id, "create", { changes: changesBetween(undefined, { role, containers }) }));
}
