import { sendingTo } from "../../access/caller.js";
import type { Uuid } from "../../base/ids.js";
import { scheduleDue } from "../../store/jobs/due.js";
import { readConnection } from "../../store/payments/connections.js";
import { updatePayment } from "../../store/payments/payments.js";
import { insertRefund, listRefundRows } from "../../store/payments/refunds.js";
import { type Connection, connectionOfPayment } from "../connections/connection.js";
import { accountFingerprint, withAccountSentTo } from "../lifecycle/account-fingerprint.js";
import { beginAttempt, beginRefundAttempt } from "../lifecycle/apply-outcome.js";
import { type Payment, writePaymentRow } from "../lifecycle/payment.js";
import { openRefund, plannedRefund, type Refund, sealRefund } from "../lifecycle/refund.js";
import { SENDING_LEASE_MS } from "./create-payment.js";
import { amountToCapture, amountToRefund, requireRefundable, requireVoidable } from "./operation-rules.js";
import { busy, findPaymentToChange, type PaymentRight, wrongState } from "./payment-access.js";
import type { PaymentCall } from "./payment-call.js";

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
  const { tx } = call;
  const begun = await begin(call, id, "token:use", async (payment) => {
    // Read after the payment is locked, because refunds are written under that lock.
    const rows = await tx.query(listRefundRows, id);
    requireRefundable(payment, rows.length);
    const refunds = rows.map((row) => openRefund(tx.keys, row));
    const amount = amountToRefund(payment, refunds, wanted);
    return beginRefundAttempt(payment, amount, tx.now.getTime());
  });
  const refund = plannedRefund(begun.payment, reason, tx.now);
  tx.enqueue(insertRefund, sealRefund(tx.keys, refund));
  tx.log("refund", refund.id, "create");
  return { ...begun, refund };
}

/**
 * The payment lock serializes concurrent requests: the second one waits, then finds the first one's operation under
 * way.
 */
async function begin(
  { tx, hosts }: PaymentCall,
  id: Uuid,
  right: PaymentRight,
  plan: (payment: Payment) => Payment | Promise<Payment>,
): Promise<BegunOperation> {
  const { payment, leased } = await findPaymentToChange(tx, id, right);
  if (leased || payment.attempt) throw busy();
  const planned = await plan(payment);
  const connection = connectionOfPayment(tx.keys, await tx.query(readConnection, payment.connectionId), payment);
  if (!connection) throw wrongState(payment, "its connection was deleted, or leads to another payment service now.");
  const due = new Date(tx.now.getTime() + SENDING_LEASE_MS);
  // A changed API key may still belong to the same account. The response shows whether it does.
  const begun = { ...withAccountSentTo(planned, accountFingerprint(tx.keys, connection)), dueAt: due };
  tx.enqueue(updatePayment.renewed, writePaymentRow(tx.keys, begun));
  scheduleDue(tx, { kind: "payment", at: due });
  const sending = tx.actingAs(sendingTo(tx.caller, hosts.hostOf(connection)));
  sending.log("transaction", id, "update", begun.attempt?.operation);
  return { payment: { ...begun, revision: payment.revision + 1 }, connection };
}

export async function leasePayment({ tx, hosts }: PaymentCall, id: Uuid): Promise<Payment> {
  const { payment, leased } = await findPaymentToChange(tx, id, "token:use");
  if (leased) throw busy();
  tx.enqueue(updatePayment.renewed, writePaymentRow(tx.keys, payment));
  const connection = connectionOfPayment(tx.keys, await tx.query(readConnection, payment.connectionId), payment);
  const sending = tx.actingAs(sendingTo(tx.caller, connection && hosts.hostOf(connection)));
  sending.log("transaction", id, "update", "sync");
  return { ...payment, revision: payment.revision + 1 };
}
