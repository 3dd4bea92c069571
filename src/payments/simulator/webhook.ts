import { connectionField } from "../connectors/fields.js";
import { parseObject, textAt } from "../connectors/read-json.js";
import { hmac, isSame } from "../connectors/signature.js";
import type { ConnectorContext } from "../contract/connector.js";
import type { WebhookDelivery, WebhookReading } from "../contract/webhook.js";

export interface SimulatedChange {
  /** Our reference, as the simulator received it. */
  readonly reference: string;
  /** Milliseconds from now. */
  readonly after?: number;
  /** How often the webhook is sent: services repeat themselves. */
  readonly times?: number;
}

const SIGNATURE = "simulator-signature";

/** `Simulator-Signature`: HMAC-SHA-256 of the body under the webhook secret, in hex. Body: {id, payment}. */
export function readSimulatorWebhook(context: ConnectorContext, { headers, body }: WebhookDelivery): WebhookReading {
  const secret = connectionField(context, "webhook_secret");
  const given = Buffer.from(headers[SIGNATURE] ?? "", "hex");
  if (!secret || !isSame(hmac("sha256", secret, body), given)) return { kind: "unverified" };
  const event = parseObject(body.toString("utf8"));
  const payment = textAt(event, "payment");
  if (payment === undefined) return { kind: "malformed" };
  const reconciliationId = payment.replace(/^sim_/, "");
  return {
    kind: "verified",
    events: [{ payment: { reconciliationId }, report: { kind: "changed" } }],
    receipt: "ok",
  };
}

export function writeSimulatorWebhook(secret: string, eventId: string, reference: string): WebhookDelivery {
  const body = Buffer.from(JSON.stringify({ id: eventId, payment: `sim_${reference}` }));
  return { headers: { [SIGNATURE]: hmac("sha256", secret, body).toString("hex") }, body };
}
