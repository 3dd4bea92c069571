import { tenantFailure } from "../api/observation/log-cause.js";
import { DeliveryQueue } from "../webhooks/delivery-queue.js";
import { SigningKey } from "../webhooks/signing-key.js";
import type { CoreParts } from "./core-parts.js";

export interface Webhooks {
  readonly deliveries: DeliveryQueue;
  /** Signs requests to webhooks of all tenants. */
  readonly webhookKey: SigningKey;
}

export function composeWebhooks({ database, keyring, clock, agents, log }: CoreParts): Webhooks {
  const webhookKey = new SigningKey({ database, keyring });
  const deliveries = new DeliveryQueue({
    database,
    keyring,
    clock,
    agents,
    signingKey: webhookKey,
    onFailure: tenantFailure(log, "webhook deliveries", "events could not be sent and will be tried again"),
  });
  return { deliveries, webhookKey };
}
