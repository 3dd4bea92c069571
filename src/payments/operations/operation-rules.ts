import { Fault, invalid } from "../../base/fault.js";
import type { Payment } from "../lifecycle/payment.js";
import { type Refund, totalRefundedOrProcessing } from "../lifecycle/refund.js";
import { wrongState } from "./payment-access.js";

/** Each change and look-up of a payment reads all of its refunds. */
export const MAX_REFUNDS = 1_000;

type Amounts = Pick<Payment, "status" | "authorizedAmount" | "capturedAmount" | "refundedAmount">;

/** Default: the whole authorization. @throws {Fault} wrong_state, or validation_failed naming the amount. */
export function amountToCapture(payment: Amounts, wanted: number | undefined): number {
  const { status, authorizedAmount } = payment;
  if (status !== "authorization_succeeded") {
    throw wrongState(payment, "only an authorization that succeeded can be captured, once.");
  }
  const amount = wanted ?? authorizedAmount;
  if (amount > authorizedAmount) throw invalid("amount", `must be at most what was authorized: ${authorizedAmount}`);
  if (amount === 0) throw invalid("amount", "must be more than 0: nothing was authorized");
  return amount;
}

/** @throws {Fault} wrong_state unless an authorization holds money that can be released. */
export function requireVoidable(payment: Amounts): void {
  const { status, authorizedAmount } = payment;
  if (status === "capture_succeeded" || status === "capture_pending") {
    throw wrongState(payment, "what is captured can be refunded instead.");
  }
  if (status !== "authorization_succeeded") {
    throw wrongState(payment, "only an authorization that succeeded can be voided.");
  }
  if (authorizedAmount === 0) throw new Fault("wrong_state", "A zero-amount authorization cannot be voided.");
}

/**
 * @param refundCount the number of the payment's refunds, whatever their status.
 * @throws {Fault} wrong_state unless money was captured and another refund may be stored.
 */
export function requireRefundable(payment: Amounts, refundCount: number): void {
  if (payment.status !== "capture_succeeded") throw wrongState(payment, "only what was captured can be refunded.");
  if (refundCount < MAX_REFUNDS) return;
  throw wrongState(payment, `it has ${refundCount} refunds, and may have at most ${MAX_REFUNDS}.`);
}

/**
 * Default: everything that is not refunded yet.
 * @param refunds all refunds of the payment, whatever their status.
 * @throws {Fault} wrong_state, or validation_failed naming the amount.
 */
export function amountToRefund(payment: Amounts, refunds: readonly Refund[], wanted: number | undefined): number {
  const left = payment.capturedAmount - Math.max(totalRefundedOrProcessing(refunds), payment.refundedAmount);
  if (left <= 0) throw wrongState(payment, "all of it was refunded already.");
  const amount = wanted ?? left;
  if (amount > left) throw invalid("amount", `must be at most what is left to refund: ${left}`);
  return amount;
}
