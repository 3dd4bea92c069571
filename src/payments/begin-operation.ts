import { actorOf, type Caller } from "../access/caller.js";
import { Refused } from "../access/refusal.js";
import { logEntry } from "../audit/log-entry.js";
import { Fault, invalid } from "../base/fault.js";
import type { Uuid } from "../base/ids.js";
import type { TenantKeys } from "../crypto/tenant-keys.js";
import { writeLog } from "../store/audit-logs.js";
import { readConnection } from "../store/connections.js";
import { noteDue } from "../store/due.js";
import { updatePayment } from "../store/payments.js";
import { insertRefund, listRefundRows } from "../store/refunds.js";
import type { Transaction } from "../store/transaction.js";
import { FLIGHT_MS } from "./admit-payment.js";
import { beginAttempt, beginRefundAttempt } from "./apply.js";
import { type Connection, connectionOf } from "./connection.js";
import { type Payment, paymentRowOf } from "./payment.js";
import { busy, findPayment, wrongState } from "./payment-access.js";
import { claimedBy, openRefund, type Refund, sealRefund } from "./refund.js";
import { accountMark, sentTo } from "./sent-with.js";

/** A payment with an operation that is written down and not yet sent. */
export interface BegunOperation {
  readonly payment: Payment;
  readonly connection: Connection;
}

const TRIES = 5;

/** Writes a capture down: of all that was authorized unless an amount is given. */
export async function beginCapture(
  tx: Transaction,
  caller: Caller,
  keys: TenantKeys,
  id: Uuid,
  wanted: number | undefined,
): Promise<BegunOperation | Refused> {
  return begin(tx, caller, keys, id, "capture", (payment) => {
    if (payment.status !== "authorization_succeeded") {
      return wrongState(payment, "only an authorization that succeeded can be captured, once.");
    }
    const amount = wanted ?? payment.authorizedAmount;
    if (amount > payment.authorizedAmount) {
      return new Refused(invalid("amount", `must be at most what was authorized: ${payment.authorizedAmount}`));
    }
    if (amount === 0) return new Refused(invalid("amount", "must be more than 0: nothing was authorized"));
    return beginAttempt(payment, "capture", amount, tx.now.getTime());
  });
}

export async function beginVoid(
  tx: Transaction,
  caller: Caller,
  keys: TenantKeys,
  id: Uuid,
): Promise<BegunOperation | Refused> {
  return begin(tx, caller, keys, id, "token:use", (payment) => {
    if (payment.status === "capture_succeeded" || payment.status === "capture_pending") {
      return wrongState(payment, "what is captured can be refunded instead.");
    }
    if (payment.status !== "authorization_succeeded") {
      return wrongState(payment, "only an authorization that succeeded can be voided.");
    }
    if (payment.authorizedAmount === 0) {
      return new Refused(
        new Fault("wrong_state", "An authorization of nothing holds no money that could be released."),
      );
    }
    return beginAttempt(payment, "void", 0, tx.now.getTime());
  });
}

export interface BegunRefund extends BegunOperation {
  readonly refund: Refund;
}

/** Writes a refund down: of all that is left unless an amount is given. */
export async function beginRefund(
  tx: Transaction,
  caller: Caller,
  keys: TenantKeys,
  id: Uuid,
  wanted: number | undefined,
  reason: string | undefined,
): Promise<BegunRefund | Refused> {
  const rows = await tx.ask(listRefundRows, id);
  const claimed = claimedBy(rows.map((row) => openRefund(keys, tx.tenantId, row)));
  const begun = await begin(tx, caller, keys, id, "token:use", (payment) => {
    if (payment.status !== "capture_succeeded") return wrongState(payment, "only what was captured can be refunded.");
    const left = payment.capturedAmount - Math.max(claimed, payment.refundedAmount);
    const amount = wanted ?? left;
    if (left <= 0) return wrongState(payment, "all of it was refunded already.");
    if (amount > left) return new Refused(invalid("amount", `must be at most what is left to refund: ${left}`));
    return beginRefundAttempt(payment, amount, tx.now.getTime());
  });
  if (begun instanceof Refused) return begun;
  const refund = plannedRefund(begun.payment, reason, tx.now);
  tx.tell(insertRefund, sealRefund(keys, tx.tenantId, refund));
  return { ...begun, refund };
}

/** The refund that a payment's attempt stands for, not yet sent. */
export function plannedRefund({ id, order, attempt }: Payment, reason: string | undefined, now: Date): Refund {
  if (!attempt?.refundId) throw new Error("a payment without a refund under way was asked for it");
  return {
    ...{ id: attempt.refundId, paymentId: id, status: "processing", amount: attempt.amount, currency: order.currency },
    ...{ reason, errorCode: undefined, providerId: undefined, updatedAt: now.getTime(), createdAt: now },
  };
}

/** Two at once: one wins the row, and the other finds the operation under way. */
async function begin(
  tx: Transaction,
  caller: Caller,
  keys: TenantKeys,
  id: Uuid,
  right: "token:use" | "capture",
  plan: (payment: Payment) => Payment | Refused,
): Promise<BegunOperation | Refused> {
  for (let attempt = 0; attempt < TRIES; attempt += 1) {
    const found = await findPayment(tx, caller, keys, id, right);
    if (found instanceof Refused) return found;
    const { payment, leased } = found;
    if (leased || payment.attempt) return busy();
    const planned = plan(payment);
    if (planned instanceof Refused) return planned;
    const connection = connectionOf(keys, tx.tenantId, await tx.ask(readConnection, payment.connectionId), payment);
    if (!connection) return wrongState(payment, "its connection was deleted, or leads to another payment service now.");
    const due = new Date(tx.now.getTime() + FLIGHT_MS);
    // A key that was changed may be the same account's: whether it is shows in the answer.
    const begun = { ...sentTo(planned, accountMark(keys, connection)), dueAt: due };
    if (!(await tx.ask(updatePayment, { ...paymentRowOf(keys, tx.tenantId, begun), lease: "taken" }))) continue;
    noteDue(tx, { kind: "payment", at: due });
    const operation = begun.attempt?.operation;
    writeLog(tx, logEntry(actorOf(caller), "transaction", id, "update", operation));
    return { payment: { ...begun, revision: payment.revision + 1 }, connection };
  }
  return busy();
}
