import type { ConnectorContext } from "../../contract/connector.js";
import type { WebhookDelivery, WebhookReading } from "../../contract/webhook.js";
import { connectionField } from "../fields.js";
import { parseObject, textAt } from "../read-json.js";
import { hmac, isSame } from "../signature.js";

/**
 * Ignores refund events, which identify the refund and not the payment, and events of other objects. The signature key
 * is used as its displayed text, not as the bytes that its hex digits encode.
 */
export function readAuthorizenetWebhook(context: ConnectorContext, { headers, body }: WebhookDelivery): WebhookReading {
  const key = connectionField(context, "signature_key");
  const [, digits = ""] = /^sha512=([0-9a-f]{128})$/i.exec(headers["x-anet-signature"] ?? "") ?? [];
  if (key === undefined || !isSame(hmac("sha512", key, body), Buffer.from(digits, "hex")))
    return { kind: "unverified" };
  const event = parseObject(body.toString("utf8"));
  const type = textAt(event, "eventType");
  if (type === undefined) return { kind: "malformed" };
  const providerId = textAt(event, "payload", "id");
  const isPayment = type.startsWith("net.authorize.payment.") && !type.startsWith("net.authorize.payment.refund.");
  if (!isPayment || providerId === undefined) return { kind: "verified", events: [] };
  return { kind: "verified", events: [{ payment: { providerId }, report: { kind: "changed" } }] };
}
