import type { JsonObject } from "../../../base/json.js";
import type { ConnectorContext } from "../../contract/connector.js";
import type { WebhookDelivery, WebhookEvent, WebhookReading } from "../../contract/webhook.js";
import { connectionField } from "../fields.js";
import { objectAt, parseObject, textAt } from "../read-json.js";
import { hmac, isSame } from "../signature.js";
import { actionOutcome } from "./look-up.js";

/** Events arrive in any order. An event only shows that a payment changed; a look-up then gets its state. */
export function readCheckoutcomWebhook(context: ConnectorContext, { headers, body }: WebhookDelivery): WebhookReading {
  const key = connectionField(context, "signature_key");
  const signature = Buffer.from(headers["cko-signature"] ?? "", "hex");
  if (key === undefined || !isSame(hmac("sha256", key, body), signature)) return { kind: "unverified" };
  const event = parseObject(body.toString("utf8"));
  const type = textAt(event, "type");
  if (type === undefined) return { kind: "malformed" };
  const data = objectAt(event, "data");
  const providerId = textAt(data, "id");
  if (data === undefined || providerId === undefined || !type.startsWith("payment_"))
    return { kind: "verified", events: [] };
  return { kind: "verified", events: [eventOf(type, data, providerId)] };
}

function eventOf(type: string, data: JsonObject, providerId: string): WebhookEvent {
  const reference = textAt(data, "reference");
  const payment = { reconciliationId: reference, providerId };
  const actionId = textAt(data, "action_id");
  const outcome = actionOutcome(data);
  switch (type) {
    case "payment_capture_declined":
      return { payment, report: { kind: "capture", providerId: actionId, outcome } };
    case "payment_void_declined":
      return { payment, report: { kind: "void", providerId: actionId, outcome } };
    case "payment_refunded":
    case "payment_refund_declined": {
      const report = { kind: "refund", reference, providerId: actionId, outcome } as const;
      return { payment: { providerId }, report };
    }
    default:
      return { payment, report: { kind: "changed" } };
  }
}
