import type { Clock } from "../base/clock.js";
import type { Json } from "../base/json.js";
import type { TenantKeys } from "../crypto/tenant-keys.js";
import { EgressError } from "../egress/egress-error.js";
import type { GuardedAgents } from "../egress/guarded-agents.js";
import { guardedRequest } from "../egress/guarded-request.js";
import type { DeliveryRow } from "../store/jobs/webhook-deliveries.js";
import { eventOfDelivery } from "./event-body.js";
import { signatureHeaders } from "./signatures.js";
import type { SigningKey } from "./signing-key.js";
import { stableJson } from "./stable-json.js";
import { signingSecrets, type Webhook } from "./webhook.js";

/** From the start of an attempt until the response must have been read. */
export const ATTEMPT_MS = 10_000;
/** What is read of a response, to keep its connection for the next request. What it says does not matter. */
const MAX_RESPONSE_BYTES = 16_384;

/** A response that tells to send nothing more: 410 Gone. */
const GONE = 410;

/** How an attempt ended. No problem: the receiver has the event. */
export interface AttemptResult {
  readonly status: number | undefined;
  readonly problem: string | undefined;
  /** Whether the receiver wants no more events. */
  readonly isGone: boolean;
  /** Whether nothing was sent, because the row was changed in the database. */
  readonly isForged?: boolean;
}

export interface AttemptParts {
  readonly agents: GuardedAgents;
  readonly signingKey: Pick<SigningKey, "privateKey">;
  readonly clock: Clock;
}

export interface Delivery {
  readonly keys: TenantKeys;
  readonly webhook: Webhook;
  readonly row: DeliveryRow;
}

/** Sends an event to a webhook once. Redirects count as failures. */
export async function attemptDelivery(
  { agents, signingKey, clock }: AttemptParts,
  { keys, webhook, row }: Delivery,
  stopping: AbortSignal,
): Promise<AttemptResult> {
  const at = new Date(clock.now());
  const message: Json = { event: eventOfDelivery(keys, row), delivered_at: at.toISOString() };
  const body = stableJson(message);
  const secrets = signingSecrets(webhook, at);
  const signatures = await signatureHeaders(
    { eventId: row.event_id, body, at },
    secrets,
    await signingKey.privateKey(),
  );
  try {
    const response = await guardedRequest(agents, {
      url: webhook.url,
      method: "POST",
      headers: [["Content-Type", "application/json"], ["User-Agent", "Cloakroom"], ...signatures],
      body: Buffer.from(body),
      pool: keys.tenantId,
      signal: AbortSignal.any([stopping, AbortSignal.timeout(ATTEMPT_MS)]),
      timeouts: { headersMs: ATTEMPT_MS, bodyIdleMs: ATTEMPT_MS },
      maxBodyBytes: MAX_RESPONSE_BYTES,
    });
    // The status is all that counts: a body that is too long, or stops, only costs the connection.
    response.body.on("error", () => {}).resume();
    const { status } = response;
    const isTaken = status >= 200 && status < 300;
    return { status, problem: isTaken ? undefined : `The receiver responded ${status}.`, isGone: status === GONE };
  } catch (error) {
    if (error instanceof EgressError) return { status: undefined, problem: error.message, isGone: false };
    throw error;
  }
}
