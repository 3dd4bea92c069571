import { type EntryDetails, logEntry } from "../audit/log-entry.js";
import type { TenantId, Uuid } from "../base/ids.js";
import type { TenantKeys } from "../crypto/tenant-keys.js";
import { writeLog } from "../store/audit/audit-logs.js";
import type { Database } from "../store/database.js";
import { scheduleDue } from "../store/jobs/due.js";
import { lockPayment, updatePayment } from "../store/payments/payments.js";
import { insertRefund, listRefundRows, updateRefund } from "../store/payments/refunds.js";
import { deleteCvc } from "../store/tokens/token-cvc.js";
import type { OrdinaryTransaction, Transaction } from "../store/transactions/transaction.js";
import type { Step } from "./apply.js";
import { plannedRefund } from "./begin-operation.js";
import { openPayment, type Payment, paymentRowOf } from "./payment.js";
import { openRefund, type Refund, sealRefund } from "./refund.js";

/** A change of a payment and its refunds: their new values. */
export interface Change extends Step {
  readonly refunds?: readonly Refund[];
  /** The process that has the lease continues, so the lease stays. */
  readonly goesOn?: boolean;
}

/**
 * Changes a payment based on its current row. The row is locked and read again, since a webhook may have been faster
 * than the response. Releases the lease unless `goesOn` is set. The first approval destroys the verification code.
 * @returns the changed payment; undefined if it no longer exists.
 */
export function changePayment(
  database: Database,
  keys: TenantKeys,
  tenantId: TenantId,
  id: Uuid,
  change: (payment: Payment, now: Date, refunds: readonly Refund[]) => Change,
): Promise<Payment | undefined> {
  return database.ordinary.run(tenantId, "unguarded", async (tx) => {
    const row = await lockPayment(tx, id);
    if (!row) return undefined;
    const payment = openPayment(keys, tenantId, row);
    const changed = change(payment, tx.now, await refundsIn(tx, keys, payment));
    write(tx, keys, changed);
    return changed.payment;
  });
}

/** Only a captured payment can have refunds. */
async function refundsIn(tx: Transaction, keys: TenantKeys, { id, status }: Payment): Promise<readonly Refund[]> {
  if (status !== "capture_succeeded") return [];
  return (await tx.query(listRefundRows, id)).map((row) => openRefund(keys, tx.tenantId, row));
}

/** What the log says of a payment that moved to another status. */
function endOf({ status, errorCode }: Payment): EntryDetails {
  return status.endsWith("_failed") ? { remark: status, outcome: "failed", code: errorCode } : { remark: status };
}

function write(
  tx: OrdinaryTransaction,
  keys: TenantKeys,
  { payment, moved, approved, refunds = [], goesOn }: Change,
): void {
  tx.enqueue(updatePayment[goesOn ? "kept" : "released"], paymentRowOf(keys, tx.tenantId, payment));
  if (payment.dueAt) scheduleDue(tx, { kind: "payment", at: payment.dueAt });
  if (moved) writeLog(tx, logEntry(undefined, "transaction", payment.id, "update", endOf(payment)));
  if (approved) deleteCvc(tx, payment.tokenId);
  if (moved && payment.attempt?.refundId) {
    tx.enqueue(insertRefund, sealRefund(keys, tx.tenantId, plannedRefund(payment, "late approval", tx.now)));
  }
  for (const refund of refunds) {
    const { id, record } = sealRefund(keys, tx.tenantId, refund);
    tx.enqueue(updateRefund, { id, record });
  }
}
