import type { TenantId } from "../../base/ids.js";
import type { Database } from "../../store/database.js";
import {
  insertSimulatorPayment,
  lockSimulatorPayment,
  readSimulatorPayment,
  updateSimulatorPayment,
} from "../../store/simulator-payments.js";
import { type Page, readPage, writePage } from "./ledger.js";

/** The simulator's books, in the database: they outlive the process, so that reconciliation has somebody to ask. */
export class Books {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async find(tenantId: TenantId, reference: string): Promise<Page | undefined> {
    const row = await this.#database.fast.run(tenantId, "unguarded", (tx) => tx.query(readSimulatorPayment, reference));
    return row ? readPage(row.ledger) : undefined;
  }

  /** Opens a page unless there is one. Answers the page that is there then. */
  async open(tenantId: TenantId, reference: string, page: Page): Promise<Page> {
    const isNew = await this.#database.ordinary.run(tenantId, "unguarded", (tx) =>
      tx.query(insertSimulatorPayment, { reference, ledger: writePage(page) }),
    );
    return isNew ? page : ((await this.find(tenantId, reference)) ?? page);
  }

  /** Changes a page. `change` answers undefined to leave it as it is. Answers the page as it then is. */
  change(tenantId: TenantId, reference: string, change: (page: Page) => Page | undefined): Promise<Page | undefined> {
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
