import type { ConnectorContext } from "../../contract/connector.js";
import type { WebhookDelivery, WebhookEvent, WebhookReading } from "../../contract/webhook.js";
import { connectionField } from "../fields.js";
import { objectAt, parseObject, textAt } from "../read-json.js";
import { hmac, isSame } from "../signature.js";
import { refundOutcome } from "./refund.js";

/** Maximum age of a signed webhook, as in Stripe's own libraries. */
const TOLERANCE_MS = 300_000;

/**
 * Events arrive in any order, in the API version that the endpoint was created with. An event therefore only shows that
 * a payment changed; a look-up then gets its state.
 */
export function readStripeWebhook(context: ConnectorContext, delivery: WebhookDelivery): WebhookReading {
  const secret = connectionField(context, "webhook_secret");
  if (secret === undefined || !isSigned(secret, delivery, context.now)) return { kind: "unverified" };
  const body = parseObject(delivery.body.toString("utf8"));
  const type = textAt(body, "type");
  const object = objectAt(body, "data", "object");
  if (type === undefined || object === undefined) return { kind: "malformed" };
  return { kind: "verified", events: eventsOf(type, object) };
}

function eventsOf(type: string, object: NonNullable<ReturnType<typeof objectAt>>): WebhookEvent[] {
  switch (textAt(object, "object")) {
    case "payment_intent": {
      const reconciliationId = textAt(object, "metadata", "reconciliation_id");
      return [{ payment: { reconciliationId, providerId: textAt(object, "id") }, report: { kind: "changed" } }];
    }
    case "charge": {
      const providerId = textAt(object, "payment_intent");
      return providerId === undefined ? [] : [{ payment: { providerId }, report: { kind: "changed" } }];
    }
    case "refund": {
      const providerId = textAt(object, "payment_intent");
      if (providerId === undefined) return [];
      const reference = textAt(object, "metadata", "reference");
      const outcome = type === "refund.failed" ? refundOutcome({ ...object, status: "failed" }) : refundOutcome(object);
      return [
        {
          payment: { providerId },
          report: { kind: "refund", reference, providerId: textAt(object, "id"), outcome },
        },
      ];
    }
    default:
      return [];
  }
}

/** `t=1700000000,v1=<hex>,v1=<hex>`: one signature per secret while secrets are being rolled. */
function isSigned(secret: string, { headers, body }: WebhookDelivery, now: Date): boolean {
  const parts = (headers["stripe-signature"] ?? "").split(",").map((part) => part.trim().split(/=(.*)/s));
  const time = parts.find(([name]) => name === "t")?.[1];
  if (time === undefined || !/^\d{1,12}$/.test(time)) return false;
  if (Math.abs(now.getTime() - Number(time) * 1000) > TOLERANCE_MS) return false;
  const expected = hmac("sha256", secret, Buffer.concat([Buffer.from(`${time}.`), body]));
  return parts.some(([name, value = ""]) => name === "v1" && isSame(expected, Buffer.from(value, "hex")));
}
