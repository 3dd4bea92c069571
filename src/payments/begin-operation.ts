import { actorOf, sendingTo } from "../access/caller.js";
import { logEntry } from "../audit/log-entry.js";
import type { Uuid } from "../base/ids.js";
import { writeLog } from "../store/audit/audit-logs.js";
import { scheduleDue } from "../store/jobs/due.js";
import { readConnection } from "../store/payments/connections.js";
import { updatePayment } from "../store/payments/payments.js";
import { insertRefund, listRefundRows } from "../store/payments/refunds.js";
import { accountFingerprint, withAccountSentTo } from "./account-fingerprint.js";
import { beginAttempt, beginRefundAttempt } from "./apply.js";
import { type Connection, connectionOf } from "./connection.js";
import { SENDING_LEASE_MS } from "./create-payment.js";
import { amountToCapture, amountToRefund, requireRefundable, requireVoidable } from "./operation-rules.js";
import { type Payment, paymentRowOf } from "./payment.js";
import { busy, findPaymentToChange, type PaymentRight, wrongState } from "./payment-access.js";
import type { PaymentCall } from "./payment-call.js";
import { openRefund, type Refund, sealRefund } from "./refund.js";

/** A payment with an operation that is stored and not yet sent. */
export interface BegunOperation {
  readonly payment: Payment;
  readonly connection: Connection;
}

/** Stores a capture. Default amount: the whole authorization. */
export async function beginCapture(call: PaymentCall, id: Uuid, wanted: number | undefined): Promise<BegunOperation> {
  return begin(call, id, "capture", (payment) =>
    beginAttempt(payment, "capture", amountToCapture(payment, wanted), call.tx.now.getTime()),
  );
}

export async function beginVoid(call: PaymentCall, id: Uuid): Promise<BegunOperation> {
  return begin(call, id, "token:use", (payment) => {
    requireVoidable(payment);
    return beginAttempt(payment, "void", 0, call.tx.now.getTime());
  });
}

export interface BegunRefund extends BegunOperation {
  readonly refund: Refund;
}

/** Stores a refund. Default amount: everything not yet refunded. */
export async function beginRefund(
  call: PaymentCall,
  id: Uuid,
  wanted: number | undefined,
  reason: string | undefined,
): Promise<BegunRefund> {
  const { tx, keys } = call;
  const begun = await begin(call, id, "token:use", async (payment) => {
    // Read after the payment is locked, because refunds are written under that lock.
    const rows = await tx.query(listRefundRows, id);
    requireRefundable(payment, rows.length);
    const refunds = rows.map((row) => openRefund(keys, tx.tenantId, row));
    const amount = amountToRefund(payment, refunds, wanted);
    return beginRefundAttempt(payment, amount, tx.now.getTime());
  });
  const refund = plannedRefund(begun.payment, reason, tx.now);
  tx.enqueue(insertRefund, sealRefund(keys, tx.tenantId, refund));
  return { ...begun, refund };
}

/** The refund that a payment's attempt describes, not yet sent. */
export function plannedRefund({ id, order, attempt }: Payment, reason: string | undefined, now: Date): Refund {
  if (!attempt?.refundId) throw new Error("the payment has no refund under way");
  return {
    ...{ id: attempt.refundId, paymentId: id, status: "processing", amount: attempt.amount, currency: order.currency },
    ...{ reason, errorCode: undefined, providerId: undefined, updatedAt: now.getTime(), createdAt: now },
  };
}

/**
 * The payment lock serializes concurrent requests: the second one waits, then finds the first one's operation under
 * way.
 */
async function begin(
  { tx, caller, keys, hosts }: PaymentCall,
  id: Uuid,
  right: PaymentRight,
  plan: (payment: Payment) => Payment | Promise<Payment>,
): Promise<BegunOperation> {
  const { payment, leased } = await findPaymentToChange(tx, caller, keys, id, right);
  if (leased || payment.attempt) throw busy();
  const planned = await plan(payment);
  const connection = connectionOf(keys, tx.tenantId, await tx.query(readConnection, payment.connectionId), payment);
  if (!connection) throw wrongState(payment, "its connection was deleted, or leads to another payment service now.");
  const due = new Date(tx.now.getTime() + SENDING_LEASE_MS);
  // A changed API key may still belong to the same account. The response shows whether it does.
  const begun = { ...withAccountSentTo(planned, accountFingerprint(keys, connection)), dueAt: due };
  tx.enqueue(updatePayment.taken, paymentRowOf(keys, tx.tenantId, begun));
  scheduleDue(tx, { kind: "payment", at: due });
  const actor = actorOf(sendingTo(caller, hosts.hostOf(connection)));
  writeLog(tx, logEntry(actor, "transaction", id, "update", begun.attempt?.operation));
  return { payment: { ...begun, revision: payment.revision + 1 }, connection };
}

/** Leases a payment to look up its state. */
export async function leasePayment({ tx, caller, keys, hosts }: PaymentCall, id: Uuid): Promise<Payment> {
  const { payment, leased } = await findPaymentToChange(tx, caller, keys, id, "token:use");
  if (leased) throw busy();
  tx.enqueue(updatePayment.taken, paymentRowOf(keys, tx.tenantId, payment));
  const connection = connectionOf(keys, tx.tenantId, await tx.query(readConnection, payment.connectionId), payment);
  const actor = actorOf(sendingTo(caller, connection && hosts.hostOf(connection)));
  writeLog(tx, logEntry(actor, "transaction", id, "update", "sync"));
  return { ...payment, revision: payment.revision + 1 };
}
