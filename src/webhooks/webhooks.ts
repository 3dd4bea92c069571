import { changedAuthorship, newAuthorship } from "../access/authorship.js";
import type { CallerTransaction, OrdinaryCallerTransaction } from "../access/caller-transaction.js";
import { StoredEntities } from "../access/stored-entities.js";
import { EVENT_TYPES, isEventType } from "../audit/event-types.js";
import { changesBetween } from "../audit/log-changes.js";
import { ANY_ENTITY_ID } from "../audit/log-entry.js";
import { Fault, invalid } from "../base/fault.js";
import { newUuid, type Uuid } from "../base/ids.js";
import { requireNamedDestination, validDestination } from "../egress/destination.js";
import type { EgressPolicy } from "../egress/egress-policy.js";
import { deleteWebhookDeliveries, failWaiting } from "../store/jobs/ended-webhooks.js";
import {
  deleteWebhookRow,
  insertWebhook,
  listWebhookRows,
  lockWebhook,
  readWebhook,
  refreshEventTypes,
  updateWebhookRow,
  type WebhookRow,
} from "../store/jobs/webhooks.js";
import { lockTenant } from "../store/tenancy/tenants.js";
import type { Transaction } from "../store/transactions/transaction.js";
import { requireEmailAddress } from "../tenancy/email-address.js";
import { newWebhookSecret, openWebhook, type Webhook, type WebhookProperties, webhookColumns } from "./webhook.js";

/** Webhooks of one tenant, as in the published interface. */
const MAX_WEBHOOKS = 5;

/** What the failed deliveries of a webhook say that was disabled. */
export const DISABLED = "the webhook was disabled";

/** @throws {Fault} validation_failed naming the field. */
export function checkWebhook(policy: EgressPolicy, given: WebhookProperties): WebhookProperties {
  requireNamedDestination("url", given.url, policy);
  const { protocol, isAddress, host } = validDestination("url", given.url, policy);
  // An allowed range of addresses opens every name until it is resolved, which is too late to refuse plain http here.
  if (protocol === "http:" && !isAddress && !policy.listsHost(host)) throw invalid("url", "must use https");
  for (const [index, type] of given.events.entries()) {
    if (!isEventType(type)) {
      throw invalid(`events[${index}]`, `must be a type that GET /webhooks/event-types lists, and is ${quoted(type)}`);
    }
  }
  const { notifyEmail } = given;
  return {
    name: given.name,
    url: given.url,
    notifyEmail: notifyEmail ? requireEmailAddress("notify_email", notifyEmail) : undefined,
    events: EVENT_TYPES.filter((type) => given.events.includes(type)),
  };
}

/** A caller's text in an error, cut. */
function quoted(text: string): string {
  return JSON.stringify(text.length > 60 ? `${text.slice(0, 60)}...` : text);
}

export const webhooks = new StoredEntities<WebhookRow, Webhook>({
  type: "webhook",
  read: readWebhook,
  remove: deleteWebhookRow,
  open: ({ keys }, row) => openWebhook(keys, row),
});

/** @throws {Fault} unprocessable if the tenant has five. */
export async function createWebhook(tx: OrdinaryCallerTransaction, properties: WebhookProperties): Promise<Webhook> {
  requireEngine(tx);
  // Concurrent requests wait here, and count afterwards.
  await lockTenant(tx, tx.tenantId);
  const present = await tx.query(listWebhookRows, "all");
  if (present.length >= MAX_WEBHOOKS) {
    throw new Fault(
      "unprocessable",
      `A tenant may have at most ${MAX_WEBHOOKS} webhooks. Delete one that is not used.`,
    );
  }
  const secrets = { secret: newWebhookSecret(), former: undefined };
  const made = { ...properties, ...secrets, id: newUuid(), isEnabled: true, ...newAuthorship(tx) };
  tx.enqueue(insertWebhook, { ...webhookColumns(tx.keys, made), enabled: true, created_by: made.createdBy });
  tx.enqueue(refreshEventTypes, "once");
  tx.log("webhook", made.id, "create", { changes: changesBetween(undefined, loggedReach(made)) });
  return made;
}

export async function listWebhooks(tx: CallerTransaction): Promise<readonly Webhook[]> {
  const rows = await tx.query(listWebhookRows, "all");
  tx.log("webhook", ANY_ENTITY_ID, "list");
  return rows.map((row) => openWebhook(tx.keys, row));
}

/**
 * Disabling ends deliveries that wait, and enabling what a writer added that had not seen it.
 * @throws {Fault} conflict if it is to be enabled while more than 10,000 are still being ended: they would be sent.
 */
export async function replaceWebhook(
  tx: OrdinaryCallerTransaction,
  id: Uuid,
  { isEnabled, ...properties }: WebhookProperties & { readonly isEnabled: boolean | undefined },
): Promise<Webhook> {
  const current = await holdWebhook(tx, id);
  const next = { ...current, ...properties, isEnabled: isEnabled ?? current.isEnabled };
  const isLeft = current.isEnabled !== next.isEnabled && (await failWaiting(tx, id, DISABLED));
  if (isLeft && next.isEnabled) {
    throw new Fault(
      "conflict",
      "Events that waited when the webhook was disabled are still being ended. Try again soon.",
    );
  }
  return writeChange(tx, current, next);
}

/** Replaces the secret. The former one also signs for a while, to let receivers change over. */
export async function rotateSecret(tx: OrdinaryCallerTransaction, id: Uuid, formerSeconds: number): Promise<Webhook> {
  const current = await holdWebhook(tx, id);
  const expiresAt = new Date(tx.now.getTime() + formerSeconds * 1_000);
  const former = formerSeconds > 0 ? { secret: current.secret, expiresAt } : undefined;
  return writeChange(tx, current, { ...current, secret: newWebhookSecret(), former }, "secret");
}

export async function deleteWebhook(tx: OrdinaryCallerTransaction, id: Uuid): Promise<void> {
  await lockTenant(tx, tx.tenantId);
  await webhooks.delete(tx, id);
  await deleteWebhookDeliveries(tx, id);
  tx.enqueue(refreshEventTypes, "once");
}

/** All changes of a tenant's webhooks lock the tenant first: what it listens to is the sum of them. */
async function holdWebhook(tx: OrdinaryCallerTransaction, id: Uuid): Promise<Webhook> {
  await lockTenant(tx, tx.tenantId);
  return openWebhook(tx.keys, webhooks.present(await lockWebhook(tx, id)));
}

async function writeChange(
  tx: OrdinaryCallerTransaction,
  current: Webhook,
  next: Webhook,
  remark?: string,
): Promise<Webhook> {
  const changed = { ...next, ...changedAuthorship(tx) };
  const columns = webhookColumns(tx.keys, next);
  tx.enqueue(updateWebhookRow, { ...columns, enabled: next.isEnabled, modified_by: changed.modifiedBy });
  tx.enqueue(refreshEventTypes, "once");
  tx.log("webhook", next.id, "update", { remark, changes: changesBetween(loggedReach(current), loggedReach(next)) });
  return changed;
}

/** What the log shows of a webhook: where it sends what, without the path, which may hold a credential. */
function loggedReach({ url, events, isEnabled }: Pick<Webhook, "url" | "events" | "isEnabled">) {
  return { destinationHost: URL.parse(url)?.host, events, isEnabled };
}

function requireEngine({ engine }: Transaction): void {
  if (engine === "postgresql") return;
  throw new Fault("unprocessable", "This vault runs on a distributed database, which does not support webhooks yet.");
}
