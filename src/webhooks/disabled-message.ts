import { escaped } from "../base/html.js";
import type { TenantId, Uuid } from "../base/ids.js";
import { Sensitive } from "../crypto/sensitive.js";
import { htmlMessage } from "../mail/html-message.js";
import type { Message } from "../mail/transport.js";
import { readWebhook } from "../store/jobs/webhooks.js";
import type { Tenants } from "../tenancy/tenants.js";
import { openWebhook } from "./webhook.js";

const SUBJECT = "A webhook was disabled";

/**
 * The message about a webhook that the vault disabled. It names the webhook by its id alone: its name and address are
 * free text.
 * @returns undefined if the webhook is gone, enabled again, or has no address for notices.
 */
export async function writeDisabledWebhookMessage(
  tenants: Tenants,
  tenantId: TenantId,
  webhookId: Uuid,
): Promise<Message | undefined> {
  const tenant = await tenants.of(tenantId);
  const row = await tenant.ordinary((tx) => tx.query(readWebhook, webhookId));
  const webhook = row ? openWebhook(tenant.keys, row) : undefined;
  if (!webhook || webhook.isEnabled || webhook.notifyEmail === undefined) return undefined;
  const said = [
    `The webhook ${webhookId} of the tenant ${tenantId} was disabled: its receiver took no event for three days, or`,
    "responded that it is gone. Events are no longer sent to it. Those of the last 30 days can be replayed.",
    `To enable it again, send PUT /webhooks/${webhookId} with "status": "enabled".`,
  ];
  return {
    to: webhook.notifyEmail,
    subject: SUBJECT,
    text: new Sensitive(`${said.join("\n")}\n`),
    html: htmlMessage(SUBJECT, `<p>${escaped(said.join(" "))}</p>`),
  };
}
