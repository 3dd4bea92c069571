import type { FoundRefusal, LookUpOutcome } from "../contract/outcome.js";
import { applyFollowUp, applyState, expirePayment, unmoved } from "./apply-outcome.js";
import { LOOK_UP_LIMIT_MS, lookUpDelay, scheduleLookUp } from "./look-up-schedule.js";
import type { Payment } from "./payment.js";
import type { Refund } from "./refund.js";
import { applyRefundsFound } from "./refund-reports.js";
import type { Change } from "./tenant-payments.js";

/** Applies the result of a look-up, and ends an operation of ours that appears in it. */
export function applyLookUp(current: Payment, found: LookUpOutcome, now: number, refunds: readonly Refund[]): Change {
  const isFound = found.kind === "found";
  const step = isFound ? applyState(current, found.state, now) : unmoved(current);
  if (step.moved || current.status === "buyer_approval_pending") return step;
  if (current.status === "capture_succeeded") {
    const total = isFound && found.state.kind === "captured" ? found.state.refundedAmount : undefined;
    return applyRefundsFound(step.payment, refunds, { found: isFound ? found.refunds : undefined, total }, now);
  }
  const { attempt } = current;
  if (!attempt) return { ...step, payment: { ...step.payment, dueAt: dueAgain(current, found, now) } };
  const refusal = isFound ? attemptRefusal(current, found.refusals ?? []) : undefined;
  if (refusal) {
    const { operation, outcome, providerId } = refusal;
    const { amount, key } = attempt;
    return applyFollowUp(step.payment, { operation, amount, key, providerId }, outcome, now);
  }
  if (attempt.operation === "authorize" && now - attempt.since > LOOK_UP_LIMIT_MS) {
    const given = expirePayment(step.payment, "service_network_error", now);
    if (given.moved) return given;
  }
  return {
    ...step,
    payment: scheduleLookUp(step.payment, attempt.state === "accepted" ? "accepted" : "unknown", now),
  };
}

/**
 * The refusal of the capture or void under way, if the service accepted it and later refused it. The service lists
 * earlier refusals too: ours has the attempt's id. The capture of a sale has no known id, so it takes the first.
 */
function attemptRefusal({ attempt, captures }: Payment, refusals: readonly FoundRefusal[]): FoundRefusal | undefined {
  if (attempt?.state !== "accepted") return undefined;
  const isFirst = attempt.operation === "capture" && captures === 1;
  return refusals.find(
    ({ operation, providerId }) =>
      operation === attempt.operation &&
      (attempt.providerId === undefined ? isFirst : providerId === attempt.providerId),
  );
}

/** A canceled payment is looked up until the service reports it closed, for a day at most. */
function dueAgain({ status, dueAt, updatedAt }: Payment, found: LookUpOutcome, now: number): Date | undefined {
  const isOpen =
    found.kind === "unknown" ||
    (found.kind === "found" && (found.state.kind === "redirect" || found.state.kind === "processing"));
  const since = now - updatedAt;
  if (status !== "authorization_failed" || dueAt === undefined || !isOpen || since > LOOK_UP_LIMIT_MS) return undefined;
  return new Date(now + lookUpDelay(since));
}
