import { setTimeout as pause } from "node:timers/promises";
import type { TenantId, Uuid } from "../base/ids.js";
import type { TenantKeys } from "../crypto/tenant-keys.js";
import { readConnection } from "../store/payments/connections.js";
import { readRefund } from "../store/payments/refunds.js";
import type { SensitiveCard } from "./card.js";
import type { Connection } from "./connection.js";
import type { Payment } from "./payment.js";
import { perform } from "./perform.js";
import { type ReconcileParts, reconcile, reconcileTenant } from "./reconcile.js";
import { openRefund, type Refund } from "./refund.js";
import { TenantWorkers } from "./tenant-workers.js";

export interface EngineParts extends ReconcileParts {
  readonly onFailure: (tenantId: TenantId, error: unknown) => void;
}

/** How long a request waits for the first check of a new connection's credentials. */
const CONNECTION_WAIT_MS = 5_000;
const CONNECTION_LOOK_MS = 50;

/** Sends payments to their services, and reconciles those with an unknown end. */
export class PaymentEngine {
  readonly #parts: EngineParts;
  readonly #reconcilers: TenantWorkers;

  constructor(parts: EngineParts) {
    this.#parts = parts;
    this.#reconcilers = new TenantWorkers(
      (tenantId, signal) => reconcileTenant(parts, tenantId, signal),
      parts.onFailure,
    );
  }

  /** Sends a payment's stored attempt. Resolves after the response is stored too. */
  send(
    keys: TenantKeys,
    tenantId: TenantId,
    payment: Payment,
    connection: Connection,
    card: SensitiveCard | undefined,
  ): Promise<Payment> {
    return perform(this.#parts, keys, tenantId, payment, connection, card);
  }

  /** Looks up and advances a payment that we have leased. */
  reconcile(keys: TenantKeys, tenantId: TenantId, payment: Payment): Promise<Payment> {
    return reconcile(this.#parts, keys, tenantId, payment);
  }

  /** Waits for the first check of a connection's credentials. */
  async awaitConnection(tenantId: TenantId, id: Uuid, signal: AbortSignal): Promise<void> {
    const until = performance.now() + CONNECTION_WAIT_MS;
    while (performance.now() < until && !signal.aborted) {
      const row = await this.#parts.database.shared.run(tenantId, "unguarded", (tx) => tx.query(readConnection, id));
      if (row?.status !== "pending" || !row.active || row.checks > 0) return;
      await pause(CONNECTION_LOOK_MS);
    }
  }

  /** The current state of a refund. */
  async refund(keys: TenantKeys, tenantId: TenantId, refund: Refund): Promise<Refund> {
    const row = await this.#parts.database.shared.run(tenantId, "unguarded", (tx) => tx.query(readRefund, refund.id));
    return row ? openRefund(keys, tenantId, row) : refund;
  }

  /** Starts reconciliation of a tenant's payments. */
  wake(tenantId: TenantId): void {
    this.#reconcilers.wake(tenantId);
  }

  stop(): Promise<void> {
    return this.#reconcilers.stop();
  }
}
