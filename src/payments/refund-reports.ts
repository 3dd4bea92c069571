import { base62Of } from "./addresses.js";
import type { FollowUpOutcome, FoundRefund } from "./outcome.js";
import { pauseAfter, waitingFor } from "./pauses.js";
import type { Payment } from "./payment.js";
import type { Change } from "./payment-changes.js";
import { type Refund, refundAfter, returnedBy } from "./refund.js";

/** By what a payment service names a refund: our reference where it keeps that, and its own id. */
export interface RefundName {
  readonly reference: string | undefined;
  readonly providerId: string | undefined;
}

/** The refund of ours that is meant. Others may be made at the service itself: those are none of ours. */
export function refundNamed(refunds: readonly Refund[], { reference, providerId }: RefundName): Refund | undefined {
  const byReference = refunds.find(({ id }) => base62Of(id) === reference);
  return byReference ?? refunds.find((refund) => providerId !== undefined && refund.providerId === providerId);
}

/**
 * What becomes of a payment by what the service said of a refund. Its amount counts from the moment that the refund has
 * succeeded, once, and no more when that comes back.
 */
export function afterRefund(payment: Payment, refund: Refund, outcome: FollowUpOutcome, now: number): Change {
  const after = refundAfter(refund, outcome, now);
  const change = { moved: false, approved: false, refunds: after === refund ? [] : [after] };
  const isUnderWay = payment.attempt?.refundId === refund.id;
  if (isUnderWay && after.status === "processing") {
    // What was taken on once is never sent again.
    const isTaken = outcome.kind === "accepted" || payment.attempt?.state === "accepted";
    return { ...change, payment: waitingFor(payment, isTaken ? "accepted" : "unknown", now) };
  }
  const rested = isUnderWay ? { ...payment, attempt: undefined, dueAt: undefined, updatedAt: now } : payment;
  if (after.status === refund.status) return { ...change, payment: rested };
  const returned = payment.refundedAmount + returnedBy([after]) - returnedBy([refund]);
  const refundedAmount = Math.max(0, Math.min(returned, payment.capturedAmount));
  return { ...change, payment: { ...rested, refundedAmount, updatedAt: now } };
}

/**
 * A refund under way that ended otherwise than by a look-up: what the service returned by itself meanwhile was not told
 * from it. The payment is looked at once more, to count that.
 */
export function withOneMoreLook(before: Payment, change: Change, now: number): Change {
  const { payment } = change;
  const isEnded = before.attempt?.operation === "refund" && payment.attempt === undefined;
  return isEnded ? { ...change, payment: { ...payment, dueAt: new Date(now + pauseAfter(0)) } } : change;
}

/**
 * What becomes of a captured payment by the refunds that a look-up found, and by the sum of all that it names.
 * @param found undefined where the service did not list them.
 */
export function afterRefundsFound(
  payment: Payment,
  refunds: readonly Refund[],
  found: readonly FoundRefund[] | undefined,
  total: number | undefined,
  now: number,
): Change {
  const rested = payment.attempt ? payment : { ...payment, dueAt: undefined };
  let change: Change = { payment: rested, moved: false, approved: false };
  for (const refund of refunds) {
    const entries = entriesOf(refund, found);
    const told = entries.find(({ outcome }) => outcome.kind === "done") ?? entries[0];
    const outcome = told?.outcome ?? ({ kind: "unknown", codes: {} } as const);
    const next = afterRefund(change.payment, refund, outcome, now);
    change = { ...next, refunds: [...(change.refunds ?? []), ...(next.refunds ?? [])] };
  }
  const { attempt } = change.payment;
  if (attempt !== undefined && attempt === payment.attempt) {
    const isTaken = attempt.state === "accepted";
    change = { ...change, payment: waitingFor(change.payment, isTaken ? "accepted" : "unknown", now) };
  }
  const known = refunds.map((refund) => change.refunds?.find(({ id }) => id === refund.id) ?? refund);
  // One that is under way may be in the sum already, unless it is not in the list.
  const isMixed = known.some(
    (refund) => refund.status === "processing" && (found === undefined || entriesOf(refund, found).length > 0),
  );
  if (total === undefined || isMixed) return change;
  return { ...change, payment: { ...change.payment, refundedAmount: Math.max(total, returnedBy(known)) } };
}

function entriesOf(refund: Refund, found: readonly FoundRefund[] = []) {
  return found.filter((entry) => refundNamed([refund], entry) !== undefined);
}
