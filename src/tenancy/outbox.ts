import { newSecret } from "../access/secret-text.js";
import type { TenantTransaction } from "../audit/tenant-transaction.js";
import type { TenantId, Uuid } from "../base/ids.js";
import type { MailTransport, Message, SendResult } from "../mail/transport.js";
import type { Database } from "../store/database.js";
import { scheduleDue } from "../store/jobs/due.js";
import { claimMessages, deleteMessage, type MessageRow, postponeMessage } from "../store/jobs/outbox.js";
import { addLink, type SentInvitation } from "../store/people/invitation-links.js";
import { findMemberOfUser } from "../store/people/members.js";
import { readTenant } from "../store/tenancy/tenants.js";
import { openInvited } from "./invitation.js";
import { INVITATION_PATH, invitationText } from "./invitation-text.js";
import { countInvitationTo } from "./mail-limits.js";
import { openProfile } from "./profile.js";
import type { Tenants } from "./tenants.js";

export interface OutboxParts {
  readonly database: Database;
  readonly tenants: Tenants;
  readonly transport: MailTransport;
  /** The address that links lead to, without a slash at the end. */
  readonly publicUrl: string;
  /** Writes the message of a sign-in request; undefined if none is to be sent. */
  readonly writeSignIn: (tenantId: TenantId, requestId: Uuid) => Promise<Message | undefined>;
  /** Writes the message about a passkey that waits to be confirmed; undefined if it does not any more. */
  readonly writeWaitingPasskey: (tenantId: TenantId, passkeyId: Uuid) => Promise<Message | undefined>;
  /** Writes the message about a webhook that was disabled; undefined if it is not any more. */
  readonly writeDisabledWebhook: (tenantId: TenantId, webhookId: Uuid) => Promise<Message | undefined>;
}

/** Longer than any attempt. */
const LEASE_SECONDS = 120;
const FIRST_DELAY_MS = 2_000;
/**
 * The longest delay between attempts while a mail server is unavailable. Attempts continue for as long as the
 * invitation lasts.
 */
const MAX_DELAY_MS = 15 * 60_000;

/**
 * Sends the messages in the outbox. A message is sent at least once: if its replica dies between sending and recording
 * it, another replica sends it again, with a second link that also works.
 */
export class Outbox {
  readonly #parts: OutboxParts;

  constructor(parts: OutboxParts) {
    this.#parts = parts;
  }

  /** Sends one message of a tenant. Returns the result, or `none` if there is nothing to send. */
  async sendNext(tenantId: TenantId, signal: AbortSignal): Promise<SendResult | "none"> {
    const { database, transport } = this.#parts;
    const [row] = await database
      .of(tenantId)
      .ordinary((tx) => tx.query(claimMessages, { limit: 1, seconds: LEASE_SECONDS }));
    if (!row) return "none";
    const message = await this.#write(tenantId, row);
    if (message instanceof Date) {
      await this.#wait(tenantId, row, message);
      return "sent";
    }
    const result = message ? await transport.send(message, signal).catch((): SendResult => "not_written") : "refused";
    await this.#settle(tenantId, row, result);
    return message ? result : "sent";
  }

  /**
   * Creates the message with its own link. Undefined after the invitation expired, or was deleted, accepted or resent. A
   * time if its address gets too many: to try again then.
   */
  async #write(tenantId: TenantId, row: MessageRow): Promise<Message | Date | undefined> {
    const { tenants, publicUrl, writeSignIn, writeWaitingPasskey, writeDisabledWebhook } = this.#parts;
    const { invitation_id: id, invitation_revision: revision, sign_in_request_id: requestId } = row;
    if (requestId !== null) return writeSignIn(tenantId, requestId);
    // Not counted: invitations of other tenants to this address would hold it back until the passkey counts.
    if (row.passkey_id !== null) return writeWaitingPasskey(tenantId, row.passkey_id);
    if (row.webhook_id !== null) return writeDisabledWebhook(tenantId, row.webhook_id);
    if (id === null || revision === null) return undefined;
    const link = newSecret("inv", tenantId, id);
    const presented = { id, hash: link.hash, revision };
    const tenant = await tenants.of(tenantId);
    const found = await tenant.ordinary(async (tx) => {
      const [invitation, tenant] = await Promise.all([tx.query(addLink, presented), tx.query(readTenant, tenantId)]);
      if (!invitation || !tenant) return undefined;
      return { invitation, name: tenant.name, sender: await senderOf(tx, invitation) };
    });
    if (!found) return undefined;
    const to = openInvited(tenant.keys, found.invitation).email;
    // Once for each message: those that a mail server did not take are sent again.
    const later = row.attempts === 0 ? await countInvitationTo(tenants, to) : undefined;
    if (later) return later;
    const url = `${publicUrl}${INVITATION_PATH}/${link.text.reveal()}`;
    return { to, ...invitationText({ ...found, host: new URL(publicUrl).host, url }) };
  }

  async #wait(tenantId: TenantId, { id, claim, attempts }: MessageRow, due: Date): Promise<void> {
    await this.#parts.database.of(tenantId).ordinary(async (tx) => {
      tx.enqueue(postponeMessage, { id, claim, attempts, due_at: due });
      scheduleDue(tx, { kind: "mail", at: due });
    });
  }

  async #settle(tenantId: TenantId, { id, claim, attempts }: MessageRow, result: SendResult): Promise<void> {
    await this.#parts.database.of(tenantId).ordinary(async (tx) => {
      if (result === "sent" || result === "refused") return tx.enqueue(deleteMessage, { id, claim });
      const delay = Math.min(FIRST_DELAY_MS * 2 ** attempts, MAX_DELAY_MS);
      const due = new Date(tx.now.getTime() + delay);
      tx.enqueue(postponeMessage, { id, claim, attempts: attempts + 1, due_at: due });
      scheduleDue(tx, { kind: "mail", at: due });
    });
  }
}

/** The address of the member who sent an invitation; undefined if an application did, or the member is gone. */
async function senderOf(tx: TenantTransaction, invitation: SentInvitation): Promise<string | undefined> {
  const member = invitation.sent_by && (await tx.query(findMemberOfUser, invitation.sent_by));
  return member ? openProfile(tx.keys, member).email : undefined;
}
