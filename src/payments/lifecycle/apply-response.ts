import type { AuthorizationOutcome, FollowUpOutcome } from "../contract/outcome.js";
import { applyFollowUp, applyState, type Step, unmoved } from "./apply-outcome.js";
import { scheduleLookUp } from "./look-up-schedule.js";
import type { Attempt, Payment } from "./payment.js";
import type { Refund } from "./refund.js";
import { applyRefund, withAnotherLookUp } from "./refund-reports.js";
import type { Change } from "./tenant-payments.js";

/** Applies the response to an authorization. An unclear one counts only if nothing else has ended the attempt. */
export function applyAuthorization(payment: Payment, outcome: AuthorizationOutcome, key: string, now: number): Step {
  const isUnderWay = payment.attempt?.key === key;
  if (outcome.kind === "unknown") {
    const coded = { ...payment, codes: { ...payment.codes, ...outcome.codes } };
    return unmoved(isUnderWay ? scheduleLookUp(coded, "unknown", now) : payment);
  }
  const step = applyState(payment, outcome, now);
  const isWaiting = outcome.kind === "processing" && isUnderWay;
  return isWaiting ? { ...step, payment: scheduleLookUp(step.payment, "accepted", now) } : step;
}

/** @param attempt as it was sent; `payment` is the current one. */
export function applyOperation(
  { payment, refunds }: { readonly payment: Payment; readonly refunds: readonly Refund[] },
  { operation, amount, key, refundId, state }: Attempt,
  outcome: FollowUpOutcome,
  now: number,
): Change {
  if (operation === "capture" || operation === "void") {
    return applyFollowUp(payment, { operation, amount, key }, outcome, now);
  }
  const refund = refunds.find(({ id }) => id === refundId);
  if (refund === undefined || payment.attempt?.key !== key) return unmoved(payment);
  const change = applyRefund(payment, refund, outcome, now);
  // Between two sendings the service may have refunded: look once more.
  return state === "sent" ? change : withAnotherLookUp(payment, change, now);
}
