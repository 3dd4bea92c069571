import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import {
  type CreateWebhookRequest,
  type ReplaceWebhookRequest,
  WebhookService,
} from "../../gen/cloakroom/v1/webhooks_pb.js";
import type { Caller } from "../access/caller.js";
import { EVENT_TYPES } from "../audit/event-types.js";
import type { TenantId, Uuid } from "../base/ids.js";
import type { EgressPolicy } from "../egress/egress-policy.js";
import type { DeliveryRow, DeliveryState } from "../store/jobs/webhook-deliveries.js";
import { getDelivery, listDeliveries, replayDelivery, testWebhook } from "../webhooks/deliveries.js";
import { eventOfDelivery } from "../webhooks/event-body.js";
import type { Webhook } from "../webhooks/webhook.js";
import {
  checkWebhook,
  createWebhook,
  deleteWebhook,
  listWebhooks,
  replaceWebhook,
  rotateSecret,
  webhooks,
} from "../webhooks/webhooks.js";
import { authorizeOnly, type Call, type ServedMethod, serve, showNothing } from "./call.js";
import { replayWhole } from "./replay.js";
import { serveById } from "./serve-by-id.js";
import { pageRequest, showAudit, showItems, storedUuid } from "./show.js";
import { shownEvent } from "./shown-to-people.js";

/** Without a value: the page of a list that is never longer. */
const LIST_SIZE = 20;
const FORMER_SECRET_SECONDS = 24 * 60 * 60;

export interface WebhookServiceParts {
  readonly policy: EgressPolicy;
  /** Sends what is due, sooner than the job that looks for it. */
  readonly sendNow: (tenantId: TenantId, webhookId: Uuid) => void;
}

export function webhookService(parts: WebhookServiceParts): ServedMethod[] {
  return [...webhookReads(), ...webhookChanges(parts), ...webhookDeliveries(parts)];
}

function webhookReads(): ServedMethod[] {
  const { method } = WebhookService;
  return [
    serve(method.listWebhooks, async (_, call) =>
      call.list(listWebhooks, (found, caller) => ({
        pagination: { pageSize: LIST_SIZE },
        data: found.map((webhook) => show(webhook, caller)),
      })),
    ),
    serve(method.listWebhookEventTypes, async (_, call) =>
      call.transact(authorizeOnly, () => ({ data: [...EVENT_TYPES] })),
    ),
    serveById(method.getWebhook, (tx, id) => webhooks.get(tx, id), show),
  ];
}

function webhookChanges({ policy }: WebhookServiceParts): ServedMethod[] {
  const { method } = WebhookService;
  const withoutSecret = replayWhole<typeof method.createWebhook.output>("webhook", ({ secret: _, ...kept }) => kept);
  return [
    serve(
      method.createWebhook,
      async (request, call) => {
        const properties = checkWebhook(policy, propertiesOf(request));
        return call.transact((tx) => createWebhook(tx, properties), showWithSecret);
      },
      { replay: withoutSecret },
    ),
    serve(
      method.replaceWebhook,
      async (request, call) => {
        const properties = checkWebhook(policy, propertiesOf(request));
        const isEnabled = request.status === undefined ? undefined : request.status === "enabled";
        return call.transact((tx) => replaceWebhook(tx, storedUuid(request.id), { ...properties, isEnabled }), show);
      },
      { replay: replayWhole("webhook") },
    ),
    serve(
      method.rotateWebhookSecret,
      async ({ id, formerSecretSeconds = FORMER_SECRET_SECONDS }, call) =>
        call.transact((tx) => rotateSecret(tx, storedUuid(id), formerSecretSeconds), showWithSecret),
      { replay: withoutSecret },
    ),
    serveById(method.deleteWebhook, deleteWebhook, showNothing),
  ];
}

function webhookDeliveries({ sendNow }: WebhookServiceParts): ServedMethod[] {
  const { method } = WebhookService;
  return [
    serve(method.testWebhook, async ({ id }, call) => {
      const webhookId = storedUuid(id);
      const made = await call.commit((tx) => testWebhook(tx, { webhookId }));
      sendNow(call.caller.tenantId, webhookId);
      return showDelivery(made);
    }),
    serve(method.listWebhookDeliveries, async (request, call) => {
      const page = pageRequest(request);
      const listing = { ...page, webhookId: storedUuid(request.id), state: stateOf(request.state) };
      return call.list((tx) => listDeliveries(tx, listing), showItems(page, showDelivery));
    }),
    serve(method.getWebhookDelivery, async ({ id, eventId }, call) =>
      call.transact(
        (tx) => getDelivery(tx, { webhookId: storedUuid(id), eventId: storedUuid(eventId) }),
        (found) => showWhole(call, found),
      ),
    ),
    serve(method.replayWebhookDelivery, async ({ id, eventId }, call) => {
      const named = { webhookId: storedUuid(id), eventId: storedUuid(eventId) };
      const restarted = await call.commit((tx) => replayDelivery(tx, named));
      sendNow(call.caller.tenantId, named.webhookId);
      return showDelivery(restarted);
    }),
  ];
}

function propertiesOf({ name, url, notifyEmail, events }: CreateWebhookRequest | ReplaceWebhookRequest) {
  return { name, url, notifyEmail, events };
}

function stateOf(given: string | undefined): DeliveryState | undefined {
  return (["waiting", "delivered", "failed"] as const).find((state) => state === given);
}

function show(webhook: Webhook, { tenantId }: Caller) {
  const { id, name, url, notifyEmail, events, isEnabled, former } = webhook;
  return {
    id,
    tenantId,
    name,
    url,
    status: isEnabled ? "enabled" : "disabled",
    events: [...events],
    ...(notifyEmail === undefined ? {} : { notifyEmail }),
    ...(former ? { formerSecretExpiresAt: timestampFromDate(former.expiresAt) } : {}),
    ...showAudit(webhook),
  };
}

/** Only responses that make a secret show it. */
function showWithSecret(webhook: Webhook, caller: Caller) {
  return { ...show(webhook, caller), secret: webhook.secret.reveal() };
}

function showDelivery(row: DeliveryRow) {
  return {
    eventId: row.event_id,
    webhookId: row.webhook_id,
    eventType: row.event_type,
    state: row.state,
    attempts: row.attempts,
    createdAt: timestampFromDate(row.created_at),
    ...(row.attempted_at ? { attemptedAt: timestampFromDate(row.attempted_at) } : {}),
    ...(row.state === "waiting" ? { nextAttemptAt: timestampFromDate(row.due_at) } : {}),
    ...(row.status === null ? {} : { responseStatus: row.status }),
    ...(row.problem === null ? {} : { problem: row.problem }),
  };
}

function showWhole({ caller, keys }: Pick<Call, "caller" | "keys">, row: DeliveryRow) {
  return { ...showDelivery(row), event: shownEvent(caller, eventOfDelivery(keys, row)) };
}
