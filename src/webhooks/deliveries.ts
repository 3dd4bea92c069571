import { loggedActor } from "../access/caller.js";
import type { CallerTransaction } from "../access/caller-transaction.js";
import { sealEvent } from "../audit/event-record.js";
import { Fault, notFound } from "../base/fault.js";
import { newUuid } from "../base/ids.js";
import type { Page } from "../base/page.js";
import { scheduleDue } from "../store/jobs/due.js";
import {
  type DeliveryListing,
  type DeliveryRow,
  insertDelivery,
  listDeliveryRows,
  type NamedDelivery,
  readDelivery,
  restartDelivery,
} from "../store/jobs/webhook-deliveries.js";
import { EVENT_KEPT_MS } from "../store/jobs/webhook-events.js";
import { webhooks } from "./webhooks.js";

/** The type of events that a caller asks for to see whether they arrive. No webhook lists it. */
const TEST_TYPE = "webhook.test";

export async function listDeliveries(tx: CallerTransaction, listing: DeliveryListing): Promise<Page<DeliveryRow>> {
  await webhooks.open(tx, listing.webhookId);
  const page = await tx.query(listDeliveryRows, listing);
  tx.log("webhook", listing.webhookId, "read", "deliveries");
  return page;
}

export async function getDelivery(tx: CallerTransaction, named: NamedDelivery): Promise<DeliveryRow> {
  await webhooks.open(tx, named.webhookId);
  const row = await tx.query(readDelivery, named);
  if (!row) throw notFound("delivery");
  tx.log("webhook", named.webhookId, "read", "delivery");
  return row;
}

/** Sends an event again. @throws {Fault} not_found; unprocessable if the webhook is disabled. */
export async function replayDelivery(tx: CallerTransaction, named: NamedDelivery): Promise<DeliveryRow> {
  await requireEnabled(tx, named);
  const row = await tx.query(restartDelivery, named);
  if (!row) throw notFound("delivery");
  scheduleDue(tx, { kind: "webhook_delivery", at: tx.now });
  tx.log("webhook", named.webhookId, "replay", "delivery");
  return row;
}

/** Sends a test to one webhook. @throws {Fault} not_found; unprocessable if it is disabled. */
export async function testWebhook(
  tx: CallerTransaction,
  { webhookId }: Pick<NamedDelivery, "webhookId">,
): Promise<DeliveryRow> {
  await requireEnabled(tx, { webhookId });
  const actor = loggedActor(tx.caller);
  const { context } = tx.caller;
  const expiresAt = new Date(tx.now.getTime() + EVENT_KEPT_MS);
  const test = { id: newUuid(), actor, context, entityType: "webhook", entityId: webhookId, event: TEST_TYPE } as const;
  const row = await tx.query(insertDelivery, {
    event_id: test.id,
    webhook_id: webhookId,
    event_type: TEST_TYPE,
    entity_type: test.entityType,
    entity_id: webhookId,
    actor_id: actor.id,
    actor_type: actor.type,
    trace_id: context.traceId ?? null,
    content: sealEvent(tx.keys, test, tx.now),
    expires_at: expiresAt,
  });
  if (!row) throw new Error("the test event was not stored");
  scheduleDue(tx, { kind: "webhook_delivery", at: tx.now });
  scheduleDue(tx, { kind: "webhook_event", at: expiresAt });
  tx.log("webhook", webhookId, "test");
  return row;
}

async function requireEnabled(tx: CallerTransaction, { webhookId }: Pick<NamedDelivery, "webhookId">): Promise<void> {
  const { isEnabled } = await webhooks.open(tx, webhookId);
  if (!isEnabled)
    throw new Fault("unprocessable", 'The webhook is disabled. Replace it with the status "enabled" first.');
}
