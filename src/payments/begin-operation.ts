import { actorOf, sendingTo } from "../access/caller.js";
import { logEntry } from "../audit/log-entry.js";
import { Fault, invalid } from "../base/fault.js";
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
import { type Payment, paymentRowOf } from "./payment.js";
import { busy, findPaymentToChange, type PaymentRight, wrongState } from "./payment-access.js";
import type { PaymentCall } from "./payment-call.js";
import { amountClaimed, openRefund, type Refund, sealRefund } from "./refund.js";

/** A payment with an operation that is stored and not yet sent. */
export interface BegunOperation {
  readonly payment: Payment;
  readonly connection: Connection;
}

/** Stores a capture. Default amount: the whole authorization. */
export async function beginCapture(call: PaymentCall, id: Uuid, wanted: number | undefined): Promise<BegunOperation> {
  return begin(call, id, "capture", (payment) => {
    if (payment.status !== "authorization_succeeded") {
      throw wrongState(payment, "only an authorization that succeeded can be captured, once.");
    }
    const amount = wanted ?? payment.authorizedAmount;
    if (amount > payment.authorizedAmount) {
      throw invalid("amount", `must be at most what was authorized: ${payment.authorizedAmount}`);
    }
    if (amount === 0) throw invalid("amount", "must be more than 0: nothing was authorized");
    return beginAttempt(payment, "capture", amount, call.tx.now.getTime());
  });
}

export async function beginVoid(call: PaymentCall, id: Uuid): Promise<BegunOperation> {
  return begin(call, id, "token:use", (payment) => {
    if (payment.status === "capture_succeeded" || payment.status === "capture_pending") {
      throw wrongState(payment, "what is captured can be refunded instead.");
    }
    if (payment.status !== "authorization_succeeded") {
      throw wrongState(payment, "only an authorization that succeeded can be voided.");
    }
    if (payment.authorizedAmount === 0) {
      throw new Fault("wrong_state", "A zero-amount authorization cannot be voided.");
    }
    return beginAttempt(payment, "void", 0, call.tx.now.getTime());
  });
}

export interface BegunRefund extends BegunOperation {
  readonly refund: Refund;
}

/** Each change and look-up of a payment reads all of its refunds. */
const MAX_REFUNDS = 1_000;

/** Stores a refund. Default amount: everything not yet refunded. */
export async function beginRefund(
  call: PaymentCall,
  id: Uuid,
  wanted: number | undefined,
  reason: string | undefined,
): Promise<BegunRefund> {
  const { tx, keys } = call;
  const begun = await begin(call, id, "token:use", async (payment) => {
    if (payment.status !== "capture_succeeded") throw wrongState(payment, "only what was captured can be refunded.");
    // Read after the payment is locked, because refunds are written under that lock.
    const rows = await tx.query(listRefundRows, id);
    if (rows.length >= MAX_REFUNDS) {
      throw wrongState(payment, `it has ${rows.length} refunds, and may have at most ${MAX_REFUNDS}.`);
    }
    const claimed = amountClaimed(rows.map((row) => openRefund(keys, tx.tenantId, row)));
    const left = payment.capturedAmount - Math.max(claimed, payment.refundedAmount);
    const amount = wanted ?? left;
    if (left <= 0) throw wrongState(payment, "all of it was refunded already.");
    if (amount > left) throw invalid("amount", `must be at most what is left to refund: ${left}`);
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
  // A changed API key may still belong to the same account. The answer shows whether it does.
  const begun = { ...withAccountSentTo(planned, accountFingerprint(keys, connection)), dueAt: due };
  tx.enqueue(updatePayment.taken, paymentRowOf(keys, tx.tenantId, begun));
  scheduleDue(tx, { kind: "payment", at: due });
  const actor = actorOf(sendingTo(caller, hosts.hostOf(connection)));
  writeLog(tx, logEntry(actor, "transaction", id, "update", begun.attempt?.operation));
  return { payment: { ...begun, revision: payment.revision + 1 }, connection };
}
