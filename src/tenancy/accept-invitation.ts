import type { Actor } from "../audit/actor.js";
import type { AuditContext } from "../audit/audit-context.js";
import { logEntry } from "../audit/log-entry.js";
import { newUuid } from "../base/ids.js";
import type { TenantKeys } from "../crypto/tenant-keys.js";
import { writeLog } from "../store/audit/audit-logs.js";
import type { Database } from "../store/database.js";
import { scheduleDue } from "../store/jobs/due.js";
import { deleteMessagesOf } from "../store/jobs/outbox.js";
import { acceptInvitationRow, findLinkedInvitation, type LinkedInvitation } from "../store/people/invitation-links.js";
import { insertMember } from "../store/people/members.js";
import { readTenant } from "../store/tenancy/tenants.js";
import type { Transaction } from "../store/transactions/transaction.js";
import { openEmail } from "./invitation.js";
import { type PresentedLink, parseLink } from "./invitation-link.js";
import type { Keyring } from "./keyring.js";
import { type Profile, sealProfile } from "./profile.js";

/** The part of an invitation that the holder of its link may see. */
export interface OpenedInvitation {
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
      tenantName: found.tenantName,
      email: openEmail(keys, link.tenantId, found.invitation),
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
    const isOpen = await this.#database.ordinary.run(link.tenantId, "unguarded", (tx) =>
      accept(tx, keys, link, { profile, context }),
    );
    return isOpen ? { ...opened, isAccepted: true } : undefined;
  }

  async #find(link: PresentedLink) {
    const { tenantId, invitationId: id, hash } = link;
    const [invitation, tenant] = await this.#database.shared.run(tenantId, "unguarded", (tx) =>
      Promise.all([tx.query(findLinkedInvitation, { id, hash }), tx.query(readTenant, tenantId)]),
    );
    return invitation && tenant ? { invitation, tenantName: tenant.name } : undefined;
  }
}

/** The person who accepts, and the request by which they do. */
interface Accepting {
  readonly profile: Profile;
  readonly context: AuditContext;
}

/** Returns whether the link still works. Of two concurrent calls, one creates the member and the other finds it. */
async function accept(tx: Transaction, keys: TenantKeys, link: PresentedLink, by: Accepting): Promise<boolean> {
  const place = { id: link.invitationId, hash: link.hash };
  const memberId = newUuid();
  const isFirst = await tx.query(acceptInvitationRow, { ...place, member_id: memberId });
  const invitation = await tx.query(findLinkedInvitation, place);
  if (isFirst && invitation) createMember(tx, keys, memberId, invitation, by);
  return invitation !== null && invitation.member_id !== null;
}

/** Creates the member of an accepted invitation. */
export function createMember(
  tx: Transaction,
  keys: TenantKeys,
  id: LinkedInvitation["id"],
  invitation: LinkedInvitation,
  { profile, context }: Accepting,
): void {
  const userId = newUuid();
  const actor: Actor = { id: userId, type: "user", keyId: undefined, context };
  tx.enqueue(insertMember, {
    id,
    user_id: userId,
    role: invitation.role,
    profile: sealProfile(keys, tx.tenantId, id, profile, { role: invitation.role }),
    email_term: invitation.email_term,
    created_by: userId,
  });
  tx.enqueue(deleteMessagesOf, invitation.id);
  scheduleDue(tx, { kind: "invitation", at: invitation.expires_at });
  writeLog(tx, logEntry(actor, "invitation", invitation.id, "accept"));
  writeLog(tx, logEntry(actor, "member", id, "create"));
}
