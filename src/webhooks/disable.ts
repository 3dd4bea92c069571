import type { OrdinaryTenantTransaction, TenantTransaction } from "../audit/tenant-transaction.js";
import { newUuid, type Uuid } from "../base/ids.js";
import { scheduleDue } from "../store/jobs/due.js";
import { failWaiting } from "../store/jobs/ended-webhooks.js";
import { insertMessage } from "../store/jobs/outbox.js";
import { wasDeliveredSince } from "../store/jobs/webhook-deliveries.js";
import { disableWebhookRow, lockWebhook, refreshEventTypes } from "../store/jobs/webhooks.js";
import { lockTenant } from "../store/tenancy/tenants.js";
import { RETRIED_FOR_MS } from "./retry-delay.js";
import { openWebhook, type Webhook } from "./webhook.js";
import { DISABLED } from "./webhooks.js";

/** Why the vault disables a webhook: it responded 410, or no attempt succeeded in three days. */
export type DisabledBecause = "gone" | "failing";

const REMARKS: Readonly<Record<DisabledBecause, string>> = {
  gone: "disabled: the receiver responded 410",
  failing: "disabled: no attempt succeeded for three days",
};

/** Whether nothing has arrived for as long as an event is tried. One event that a receiver never takes disables nothing. */
export async function hasOnlyFailed(tx: TenantTransaction, webhookId: Uuid): Promise<boolean> {
  const since = new Date(tx.now.getTime() - RETRIED_FOR_MS);
  return !(await tx.query(wasDeliveredSince, { webhookId, since }));
}

/**
 * Disables a webhook, ends what waits for it, and has a message sent to its address for notices. Nothing happens if it has
 * another address than the one that failed: it was replaced during the attempt.
 */
export async function disableWebhook(
  tx: OrdinaryTenantTransaction,
  { id, url }: Pick<Webhook, "id" | "url">,
  because: DisabledBecause,
): Promise<void> {
  await lockTenant(tx, tx.tenantId);
  const row = await lockWebhook(tx, id);
  if (!row?.enabled) return;
  const { notifyEmail, url: present } = openWebhook(tx.keys, row);
  if (present !== url) return;
  tx.enqueue(disableWebhookRow, id);
  await failWaiting(tx, id, DISABLED);
  tx.enqueue(refreshEventTypes, "once");
  tx.log("webhook", id, "update", REMARKS[because]);
  if (notifyEmail === undefined) return;
  tx.enqueue(insertMessage, { id: newUuid(), webhook_id: id });
  scheduleDue(tx, { kind: "mail", at: tx.now });
}
