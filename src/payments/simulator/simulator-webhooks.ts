import { expandUuid } from "../../base/compact-uuid.js";
import { newUuid, type TenantId } from "../../base/ids.js";
import type { Database } from "../../store/database.js";
import { readConnection } from "../../store/payments/connections.js";
import { readPayment } from "../../store/payments/payments.js";
import type { Keyring } from "../../tenancy/keyring.js";
import { connectionOf } from "../connection.js";
import { fieldOf } from "../connectors/fields.js";
import { openPayment } from "../payment.js";
import { encodeSignedPath } from "../signed-path.js";
import type { WebhookDelivery } from "../webhook.js";
import { writeSimulatorWebhook } from "./webhook.js";

/** A change of a simulated payment, to be sent as a webhook. */
export interface Change {
  /** Our reference, as the simulator received it. */
  readonly reference: string;
  /** Milliseconds from now. */
  readonly after?: number;
  /** How often the webhook is sent: services repeat themselves. */
  readonly times?: number;
}

export interface PostParts {
  readonly database: Database;
  readonly keyring: Keyring;
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
  schedule(tenantId: TenantId, { reference, after = 0, times = 1 }: Change): void {
    const timer = setTimeout(() => {
      this.#waiting.delete(timer);
      this.#send(tenantId, reference, times).catch((error: unknown) => this.#parts.onFailure(tenantId, error));
    }, after);
    this.#waiting.add(timer);
  }

  /** Sends no more webhooks. */
  stop(): void {
    for (const timer of this.#waiting) clearTimeout(timer);
    this.#waiting.clear();
  }

  async #send(tenantId: TenantId, reference: string, times: number): Promise<void> {
    const { database, keyring, deliver } = this.#parts;
    const id = expandUuid(reference);
    if (!id) return;
    const keys = await keyring.of(tenantId);
    const connection = await database.shared.run(tenantId, "unguarded", async (tx) => {
      const row = await tx.query(readPayment, id);
      const payment = row ? openPayment(keys, tenantId, row) : undefined;
      return payment && connectionOf(keys, tenantId, await tx.query(readConnection, payment.connectionId), payment);
    });
    const secret = connection && fieldOf(connection, "webhook_secret");
    if (!connection || secret === undefined) return;
    const delivery = writeSimulatorWebhook(secret, newUuid(), reference);
    const address = encodeSignedPath(keys, "payment-webhook", tenantId, connection.id);
    for (let time = 0; time < times; time += 1) await deliver(address, delivery);
  }
}
