import type { OrdinaryCallerTransaction } from "../access/caller-transaction.js";
import { isApplicationType } from "../access/permissions.js";
import { requireGrantable } from "../access/role-rights.js";
import { openRights } from "../access/sealed-rights.js";
import { invalid } from "../base/fault.js";
import type { Uuid } from "../base/ids.js";
import { holdActingApplication, readApplication } from "../store/access/applications.js";
import type { Transaction } from "../store/transactions/transaction.js";

/** Code may act only as a public or private application of the tenant. @throws {Fault} validation_failed. */
export async function requireApplication(tx: Transaction, id: Uuid | undefined): Promise<void> {
  if (id === undefined) return;
  const application = await tx.query(readApplication, id);
  if (!application || application.type === "management") {
    throw invalid("application.id", "must be a public or private application of this tenant");
  }
}

/**
 * Checks that a person does not write code that acts as an application with more rights than the person may give. The
 * application stays as it is: who gives it more rights meanwhile waits, and then finds the code.
 * @throws {Fault} permission_denied.
 */
export async function requireGrantableActing(
  tx: OrdinaryCallerTransaction,
  id: Uuid | null | undefined,
): Promise<void> {
  if (tx.caller.principal.kind !== "person" || !id) return;
  const row = await holdActingApplication(tx, id);
  if (!row || !isApplicationType(row.type)) return;
  requireGrantable(tx.caller, row.type, openRights(tx.keys, { ...row, type: row.type }, row.definition));
}
