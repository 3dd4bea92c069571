import { setTimeout as pause } from "node:timers/promises";
import type { TenantId, Uuid } from "../base/ids.js";
import type { TenantKeys } from "../crypto/tenant-keys.js";
import { readConnection } from "../store/connections.js";
import { readRefund } from "../store/refunds.js";
import type { SensitiveCard } from "./card.js";
import type { Connection } from "./connection.js";
import type { Payment } from "./payment.js";
import { perform } from "./perform.js";
import { type ReconcileParts, reconcile, reconcileTenant } from "./reconcile.js";
import { openRefund, type Refund } from "./refund.js";
import { TenantTurns } from "./tenant-turns.js";

export interface EngineParts extends ReconcileParts {
  readonly onFailure: (tenantId: TenantId, error: unknown) => void;
}

/** A new connection's credentials are waited for this long. */
const CONNECTION_WAIT_MS = 5_000;
const CONNECTION_LOOK_MS = 50;

/** Sends payments to their services, and looks after those whose end is not known. */
export class PaymentEngine {
  readonly #parts: EngineParts;
  readonly #turns: TenantTurns;

  constructor(parts: EngineParts) {
    this.#parts = parts;
    this.#turns = new TenantTurns((tenantId, signal) => reconcileTenant(parts, tenantId, signal), parts.onFailure);
  }

  /** Sends what is written down as a payment's attempt. Does not end before the answer is written down too. */
  send(
    keys: TenantKeys,
    tenantId: TenantId,
    payment: Payment,
    connection: Connection,
    card: SensitiveCard | undefined,
  ): Promise<Payment> {
    return perform(this.#parts, keys, tenantId, payment, connection, card);
  }

  /** Asks how a payment that is leased to us stands. */
  reconcile(keys: TenantKeys, tenantId: TenantId, payment: Payment): Promise<Payment> {
    return reconcile(this.#parts, keys, tenantId, payment);
  }

  /** Waits while the credentials of a connection are checked for the first time. */
  async awaitConnection(tenantId: TenantId, id: Uuid, signal: AbortSignal): Promise<void> {
    const until = performance.now() + CONNECTION_WAIT_MS;
    while (performance.now() < until && !signal.aborted) {
      const row = await this.#parts.database.fast.run(tenantId, "unguarded", (tx) => tx.query(readConnection, id));
      if (row?.status !== "pending" || !row.active || row.checks > 0) return;
      await pause(CONNECTION_LOOK_MS);
    }
  }

  /** A refund as it stands now. */
  async refund(keys: TenantKeys, tenantId: TenantId, refund: Refund): Promise<Refund> {
    const row = await this.#parts.database.fast.run(tenantId, "unguarded", (tx) => tx.query(readRefund, refund.id));
    return row ? openRefund(keys, tenantId, row) : refund;
  }

  /** A tenant has payments to be looked after. */
  wake(tenantId: TenantId): void {
    this.#turns.wake(tenantId);
  }

  stop(): Promise<void> {
    return this.#turns.stop();
  }
}
