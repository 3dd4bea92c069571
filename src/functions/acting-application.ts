import { invalid } from "../base/fault.js";
import type { Uuid } from "../base/ids.js";
import { readApplication } from "../store/applications.js";
import type { Transaction } from "../store/transaction.js";

/** Code may act only as a public or private application of the tenant. @throws {Fault} validation_failed. */
export async function requireApplication(tx: Transaction, id: Uuid | undefined): Promise<void> {
  if (id === undefined) return;
  const application = await tx.query(readApplication, id);
  if (!application || application.type === "management") {
    throw invalid("application.id", "must be a public or private application of this tenant");
  }
}
