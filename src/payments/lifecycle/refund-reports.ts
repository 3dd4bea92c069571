import { compactUuid } from "../../base/compact-uuid.js";
import type { FollowUpOutcome, FoundRefund } from "../contract/outcome.js";
import { lookUpDelay, scheduleLookUp } from "./look-up-schedule.js";
import type { Payment } from "./payment.js";
import { applyRefundOutcome, type Refund, totalRefunded } from "./refund.js";
import type { Change } from "./tenant-payments.js";

/** A payment service's name for a refund: our reference, if the service stores it, and its own id. */
export interface RefundName {
  readonly reference: string | undefined;
  readonly providerId: string | undefined;
}

/** Finds our refund by its name. Undefined for a refund made at the service itself. */
export function refundNamed(refunds: readonly Refund[], { reference, providerId }: RefundName): Refund | undefined {
  const byReference = refunds.find(({ id }) => compactUuid(id) === reference);
  return byReference ?? refunds.find((refund) => providerId !== undefined && refund.providerId === providerId);
}

/** The amount counts once, from the refund's success, and no longer if the money comes back. */
export function applyRefund(payment: Payment, refund: Refund, outcome: FollowUpOutcome, now: number): Change {
  const after = applyRefundOutcome(refund, outcome, now);
  const change = { moved: false, approved: false, refunds: after === refund ? [] : [after] };
  const isUnderWay = payment.attempt?.refundId === refund.id;
  if (isUnderWay && after.status === "processing") {
    // A request that was accepted once is never resent.
    const isTaken = outcome.kind === "accepted" || payment.attempt?.state === "accepted";
    return { ...change, payment: scheduleLookUp(payment, isTaken ? "accepted" : "unknown", now) };
  }
  const rested = isUnderWay ? { ...payment, attempt: undefined, dueAt: undefined, updatedAt: now } : payment;
  if (after.status === refund.status) return { ...change, payment: rested };
  const returned = payment.refundedAmount + totalRefunded([after]) - totalRefunded([refund]);
  const refundedAmount = Math.max(0, Math.min(returned, payment.capturedAmount));
  return { ...change, payment: { ...rested, refundedAmount, updatedAt: now } };
}

/**
 * Schedules another look-up after a refund ended without one. Until then, money that the service refunded by itself
 * cannot be separated from this refund.
 */
export function withAnotherLookUp(before: Payment, change: Change, now: number): Change {
  const { payment } = change;
  const isEnded = before.attempt?.operation === "refund" && payment.attempt === undefined;
  return isEnded ? { ...change, payment: { ...payment, dueAt: new Date(now + lookUpDelay(0)) } } : change;
}

/** What a look-up says of a payment's refunds. */
export interface RefundsFound {
  /** Undefined if the service did not list them. */
  readonly found: readonly FoundRefund[] | undefined;
  /** What was refunded in all. */
  readonly total: number | undefined;
}

/** Applies the refunds in a look-up to a captured payment, and the total that the look-up reports. */
export function applyRefundsFound(
  payment: Payment,
  refunds: readonly Refund[],
  { found, total }: RefundsFound,
  now: number,
): Change {
  const rested = payment.attempt ? payment : { ...payment, dueAt: undefined };
  let change: Change = { payment: rested, moved: false, approved: false };
  for (const refund of refunds) {
    const entries = foundEntries(refund, found);
    const entry = entries.find(({ outcome }) => outcome.kind === "done") ?? entries[0];
    const outcome = entry?.outcome ?? ({ kind: "unknown", codes: {} } as const);
    const next = applyRefund(change.payment, refund, outcome, now);
    change = { ...next, refunds: [...(change.refunds ?? []), ...(next.refunds ?? [])] };
  }
  const { attempt } = change.payment;
  if (attempt !== undefined && attempt === payment.attempt) {
    const isTaken = attempt.state === "accepted";
    change = { ...change, payment: scheduleLookUp(change.payment, isTaken ? "accepted" : "unknown", now) };
  }
  const known = refunds.map((refund) => change.refunds?.find(({ id }) => id === refund.id) ?? refund);
  // The total may already include a refund that is under way, unless the list is known not to contain it.
  const isMixed = known.some(
    (refund) => refund.status === "processing" && (found === undefined || foundEntries(refund, found).length > 0),
  );
  if (total === undefined || isMixed) return change;
  return { ...change, payment: { ...change.payment, refundedAmount: Math.max(total, totalRefunded(known)) } };
}

function foundEntries(refund: Refund, found: readonly FoundRefund[] = []) {
  return found.filter((entry) => refundNamed([refund], entry) !== undefined);
}
