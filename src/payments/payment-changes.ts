import { logEntry } from "../audit/log-entry.js";
import type { TenantId, Uuid } from "../base/ids.js";
import type { TenantKeys } from "../crypto/tenant-keys.js";
import { writeLog } from "../store/audit-logs.js";
import type { Database } from "../store/database.js";
import { noteDue } from "../store/due.js";
import { readPayment, updatePayment } from "../store/payments.js";
import { insertRefund, listRefundRows, updateRefund } from "../store/refunds.js";
import { deleteCvc } from "../store/token-cvc.js";
import type { Transaction } from "../store/transaction.js";
import type { Step } from "./apply.js";
import { plannedRefund } from "./begin-operation.js";
import { openPayment, type Payment, paymentRowOf } from "./payment.js";
import { openRefund, type Refund, sealRefund } from "./refund.js";

const TRIES = 8;

/** A change of a payment, and of refunds of it: as they then are. */
export interface Change extends Step {
  readonly refunds?: readonly Refund[];
  /** Whoever works on the payment goes on with it: the lease stays as it is. */
  readonly goesOn?: boolean;
}

/**
 * Changes a payment by what is known of it now: it is read again, since a webhook may have been faster than the answer.
 * Lets it go, unless the change goes on. The verification code is destroyed with the first approval.
 * @returns the payment as it then is; undefined when it is gone.
 */
export async function changePayment(
  database: Database,
  keys: TenantKeys,
  tenantId: TenantId,
  id: Uuid,
  change: (payment: Payment, now: Date, refunds: readonly Refund[]) => Change,
): Promise<Payment | undefined> {
  for (let attempt = 0; attempt < TRIES; attempt += 1) {
    const done = await database.fast.run(tenantId, "unguarded", async (tx) => {
      const row = await tx.ask(readPayment, id);
      if (!row) return { payment: undefined };
      const payment = openPayment(keys, tenantId, row);
      const changed = change(payment, tx.now, await refundsIn(tx, keys, payment));
      return (await write(tx, keys, changed)) ? { payment: changed.payment } : undefined;
    });
    if (done) return done.payment;
  }
  throw new Error("a payment keeps being changed");
}

/** Only what was captured can have refunds. */
async function refundsIn(tx: Transaction, keys: TenantKeys, { id, status }: Payment): Promise<readonly Refund[]> {
  if (status !== "capture_succeeded") return [];
  return (await tx.ask(listRefundRows, id)).map((row) => openRefund(keys, tx.tenantId, row));
}

async function write(
  tx: Transaction,
  keys: TenantKeys,
  { payment, moved, approved, refunds = [], goesOn }: Change,
): Promise<boolean> {
  const lease = goesOn ? "kept" : "released";
  if (!(await tx.ask(updatePayment, { ...paymentRowOf(keys, tx.tenantId, payment), lease }))) return false;
  if (payment.dueAt) noteDue(tx, { kind: "payment", at: payment.dueAt });
  if (moved) writeLog(tx, logEntry(undefined, "transaction", payment.id, "update", payment.status));
  if (approved) deleteCvc(tx, payment.tokenId);
  if (moved && payment.attempt?.refundId) {
    tx.tell(insertRefund, sealRefund(keys, tx.tenantId, plannedRefund(payment, "late approval", tx.now)));
  }
  for (const refund of refunds) {
    const { id, record } = sealRefund(keys, tx.tenantId, refund);
    tx.tell(updateRefund, { id, record });
  }
  return true;
}
