import { setTimeout as pause } from "node:timers/promises";
import type { TenantId, Uuid } from "../base/ids.js";
import type { TenantKeys } from "../crypto/tenant-keys.js";
import type { Database } from "../store/database.js";
import { readConnection } from "../store/payments/connections.js";
import type { Connection } from "./connections/connection.js";
import type { SensitiveCard } from "./contract/card.js";
import type { Payment } from "./lifecycle/payment.js";
import type { Refund } from "./lifecycle/refund.js";
import { TenantPayments } from "./lifecycle/tenant-payments.js";
import { PaymentRun } from "./operations/payment-run.js";
import { type ReconcileParts, reconcile, reconcileTenant } from "./reconciliation/reconcile.js";
import { TenantWorkers } from "./tenant-workers.js";

export interface EngineParts extends ReconcileParts {
  readonly database: Database;
  readonly onFailure: (tenantId: TenantId, error: unknown) => void;
}

/** A payment whose next operation is stored and not yet sent. */
export interface UnsentPayment {
  readonly payment: Payment;
  readonly connection: Connection;
  /** Only for an authorization. */
  readonly card?: SensitiveCard;
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
  send(keys: TenantKeys, { payment, connection, card }: UnsentPayment): Promise<Payment> {
    return new PaymentRun(this.#parts, this.#paymentsOf(keys), connection).send(payment, card);
  }

  /** Looks up and advances a payment that we have leased. */
  reconcile(keys: TenantKeys, payment: Payment): Promise<Payment> {
    return reconcile(this.#parts, this.#paymentsOf(keys), payment);
  }

  /** Waits for the first check of a connection's credentials. */
  async awaitConnection(tenantId: TenantId, id: Uuid, signal: AbortSignal): Promise<void> {
    const until = performance.now() + CONNECTION_WAIT_MS;
    while (performance.now() < until && !signal.aborted) {
      const row = await this.#parts.database.of(tenantId).shared((tx) => tx.query(readConnection, id));
      if (row?.status !== "pending" || !row.active || row.checks > 0) return;
      await pause(CONNECTION_LOOK_MS);
    }
  }

  async refund(keys: TenantKeys, refund: Refund): Promise<Refund> {
    return (await this.#paymentsOf(keys).findRefund(refund.id)) ?? refund;
  }

  /** Starts reconciliation of a tenant's payments. */
  wake(tenantId: TenantId): void {
    this.#reconcilers.wake(tenantId);
  }

  stop(): Promise<void> {
    return this.#reconcilers.stop();
  }

  #paymentsOf(keys: TenantKeys): TenantPayments {
    return new TenantPayments(this.#parts.tenants.withKeys(keys));
  }
}
