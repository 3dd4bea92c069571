import type { TenantId } from "../../base/ids.js";
import type { Database } from "../../store/database.js";
import {
  insertSimulatorPayment,
  lockSimulatorPayment,
  readSimulatorPayment,
  updateSimulatorPayment,
} from "../../store/payments/simulator-payments.js";
import { readPage, type SimulatedPayment, writePage } from "./ledger.js";

/** The simulator's books, in the database: they outlive the process, so reconciliation can look payments up. */
export class SimulatorStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async find(tenantId: TenantId, reference: string): Promise<SimulatedPayment | undefined> {
    const row = await this.#database.shared.run(tenantId, "unguarded", (tx) =>
      tx.query(readSimulatorPayment, reference),
    );
    return row ? readPage(row.ledger) : undefined;
  }

  /** Opens a page unless there is one. Returns the existing or new page. */
  async open(tenantId: TenantId, reference: string, page: SimulatedPayment): Promise<SimulatedPayment> {
    const isNew = await this.#database.ordinary.run(tenantId, "unguarded", (tx) =>
      tx.query(insertSimulatorPayment, { reference, ledger: writePage(page) }),
    );
    return isNew ? page : ((await this.find(tenantId, reference)) ?? page);
  }

  /** Changes a page. `change` returns undefined to leave it as it is. Returns the page afterwards. */
  change(
    tenantId: TenantId,
    reference: string,
    change: (page: SimulatedPayment) => SimulatedPayment | undefined,
  ): Promise<SimulatedPayment | undefined> {
    return this.#database.ordinary.run(tenantId, "unguarded", async (tx) => {
      const row = await lockSimulatorPayment(tx, reference);
      if (!row) return undefined;
      const page = readPage(row.ledger);
      const changed = change(page);
      if (changed) tx.enqueue(updateSimulatorPayment, { reference, ledger: writePage(changed) });
      return changed ?? page;
    });
  }
}
