import { escaped } from "../base/html.js";
import type { TenantId, Uuid } from "../base/ids.js";
import { Sensitive } from "../crypto/sensitive.js";
import type { MailTransport, Message, SendResult } from "../mail/transport.js";
import type { Database } from "../store/database.js";
import { scheduleDue } from "../store/jobs/due.js";
import { claimMessages, deleteMessage, type MessageRow, postponeMessage } from "../store/jobs/outbox.js";
import { addLink } from "../store/people/invitation-links.js";
import { readTenant } from "../store/tenancy/tenants.js";
import { openEmail } from "./invitation.js";
import { INVITATION_PATH, newLink } from "./invitation-link.js";
import type { Keyring } from "./keyring.js";

export interface OutboxParts {
  readonly database: Database;
  readonly keyring: Keyring;
  readonly transport: MailTransport;
  /** The address that links lead to, without a slash at the end. */
  readonly publicUrl: string;
  /** Writes the message of a sign-in request; undefined if none is to be sent. */
  readonly writeSignIn: (tenantId: TenantId, requestId: Uuid) => Promise<Message | undefined>;
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
    const [row] = await database.ordinary.run(tenantId, "unguarded", (tx) =>
      tx.query(claimMessages, { limit: 1, seconds: LEASE_SECONDS }),
    );
    if (!row) return "none";
    const message = await this.#write(tenantId, row);
    const result = message ? await transport.send(message, signal).catch((): SendResult => "not_written") : "refused";
    await this.#settle(tenantId, row, result);
    return message ? result : "sent";
  }

  /**
   * Creates the message with its own link. Undefined after the invitation expired, or was deleted, accepted or resent.
   */
  async #write(tenantId: TenantId, row: MessageRow): Promise<Message | undefined> {
    const { database, keyring, publicUrl, writeSignIn } = this.#parts;
    const { invitation_id: id, invitation_revision: revision, sign_in_request_id: requestId } = row;
    if (requestId !== null) return writeSignIn(tenantId, requestId);
    if (id === null || revision === null) return undefined;
    const link = newLink(tenantId, id);
    const place = { id, hash: link.hash, revision };
    const [invitation, tenant] = await database.ordinary.run(tenantId, "unguarded", (tx) =>
      Promise.all([tx.query(addLink, place), tx.query(readTenant, tenantId)]),
    );
    if (!invitation || !tenant) return undefined;
    const keys = await keyring.of(tenantId);
    // A tenant chooses its name freely, so keep the name on one line.
    const name = tenant.name.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, " ");
    const url = `${publicUrl}${INVITATION_PATH}/${link.text.reveal()}`;
    return {
      to: openEmail(keys, tenantId, invitation),
      subject: `Invitation to ${name}`,
      text: new Sensitive(textOf(name, url, invitation.expires_at)),
      html: new Sensitive(htmlOf(name, url, invitation.expires_at)),
    };
  }

  async #settle(tenantId: TenantId, { id, claim, attempts }: MessageRow, result: SendResult): Promise<void> {
    await this.#parts.database.ordinary.run(tenantId, "unguarded", async (tx) => {
      if (result === "sent" || result === "refused") return tx.enqueue(deleteMessage, { id, claim });
      const delay = Math.min(FIRST_DELAY_MS * 2 ** attempts, MAX_DELAY_MS);
      const due = new Date(tx.now.getTime() + delay);
      tx.enqueue(postponeMessage, { id, claim, attempts: attempts + 1, due_at: due });
      scheduleDue(tx, { kind: "mail", at: due });
    });
  }
}

function textOf(tenantName: string, url: string, until: Date): string {
  return `You are invited to become a member of ${tenantName}, which keeps its data in Cloakroom.

To accept, open this address:

${url}

It works until ${until.toUTCString()}. Anyone who has it can accept, so keep it to yourself.
If you did not expect this invitation, there is nothing that you need to do.
`;
}

function htmlOf(tenantName: string, url: string, until: Date): string {
  const link = escaped(url);
  const html = `<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>Invitation</title></head><body>
<p>You are invited to become a member of <strong>${escaped(tenantName)}</strong>, which keeps its data in Cloakroom.</p>
<p><a href="${link}">Accept the invitation</a></p>
<p>Or open this address:<br>${link}</p>
<p>It works until ${until.toUTCString()}. Anyone who has it can accept, so keep it to yourself.<br>
If you did not expect this invitation, there is nothing that you need to do.</p>
</body></html>
`;
  return html.replaceAll(/\P{ASCII}/gu, (char) => `&#${char.codePointAt(0)};`);
}
