import type { TenantId } from "../../base/ids.js";
import type { Database } from "../../store/database.js";
import {
  insertSimulatorPayment,
  lockSimulatorPayment,
  readSimulatorPayment,
  updateSimulatorPayment,
} from "../../store/payments/simulator-payments.js";
import { decodeLedger, encodeLedger, type SimulatedPayment } from "./ledger.js";

/** The simulator's payments, in the database: they outlive the process, so reconciliation can look them up. */
export class SimulatorStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async find(tenantId: TenantId, reference: string): Promise<SimulatedPayment | undefined> {
    const row = await this.#database.of(tenantId).shared((tx) => tx.query(readSimulatorPayment, reference));
    return row ? decodeLedger(row.ledger) : undefined;
  }

  /** Stores a payment unless there is one. Returns the stored one. */
  async open(tenantId: TenantId, reference: string, payment: SimulatedPayment): Promise<SimulatedPayment> {
    const isNew = await this.#database
      .of(tenantId)
      .ordinary((tx) => tx.query(insertSimulatorPayment, { reference, ledger: encodeLedger(payment) }));
    return isNew ? payment : ((await this.find(tenantId, reference)) ?? payment);
  }

  /** Changes a payment, or leaves it as it is if `change` returns undefined. Returns it afterwards. */
  change(
    tenantId: TenantId,
    reference: string,
    change: (payment: SimulatedPayment) => SimulatedPayment | undefined,
  ): Promise<SimulatedPayment | undefined> {
    return this.#database.of(tenantId).ordinary(async (tx) => {
      const row = await lockSimulatorPayment(tx, reference);
      if (!row) return undefined;
      const payment = decodeLedger(row.ledger);
      const changed = change(payment);
      if (changed) tx.enqueue(updateSimulatorPayment, { reference, ledger: encodeLedger(changed) });
      return changed ?? payment;
    });
  }
}
