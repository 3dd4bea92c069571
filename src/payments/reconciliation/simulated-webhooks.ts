import { expandUuid } from "../../base/compact-uuid.js";
import { newUuid, type TenantId } from "../../base/ids.js";
import type { Tenants } from "../../tenancy/tenants.js";
import { connectionField } from "../connectors/fields.js";
import type { WebhookDelivery } from "../contract/webhook.js";
import { TenantPayments } from "../lifecycle/tenant-payments.js";
import { encodeSignedPath } from "../signed-path.js";
import { type SimulatedChange, writeSimulatorWebhook } from "../simulator/webhook.js";

export interface PostParts {
  readonly tenants: Tenants;
  /** Delivers a webhook to one of our addresses. */
  readonly deliver: (address: string, delivery: WebhookDelivery) => Promise<unknown>;
  readonly onFailure: (tenantId: TenantId, error: unknown) => void;
}

/**
 * The simulator's webhooks. They are signed, verified and applied like those of any service, and may be lost like
 * those: a webhook not sent before the server stops is replaced by a look-up.
 */
export class SimulatorWebhooks {
  readonly #parts: PostParts;
  readonly #waiting = new Set<NodeJS.Timeout>();

  constructor(parts: PostParts) {
    this.#parts = parts;
  }

  /** Sends a webhook for a change, if the connection has a secret to sign with. */
  schedule(tenantId: TenantId, { reference, after = 0, times = 1 }: SimulatedChange): void {
    const timer = setTimeout(() => {
      this.#waiting.delete(timer);
      this.#send(tenantId, reference, times).catch((error: unknown) => this.#parts.onFailure(tenantId, error));
    }, after);
    this.#waiting.add(timer);
  }

  stop(): void {
    for (const timer of this.#waiting) clearTimeout(timer);
    this.#waiting.clear();
  }

  async #send(tenantId: TenantId, reference: string, times: number): Promise<void> {
    const { tenants, deliver } = this.#parts;
    const id = expandUuid(reference);
    if (!id) return;
    const payments = new TenantPayments(await tenants.of(tenantId));
    const payment = await payments.find(id);
    const connection = payment && (await payments.connectionOf(payment));
    const secret = connection && connectionField(connection, "webhook_secret");
    if (!connection || secret === undefined) return;
    const delivery = writeSimulatorWebhook(secret, newUuid(), reference);
    const address = encodeSignedPath(payments.keys, "payment-webhook", connection.id);
    for (let time = 0; time < times; time += 1) await deliver(address, delivery);
  }
}
