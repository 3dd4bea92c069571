import type { LookUpOutcome } from "../contract/outcome.js";
import { applyLookUp } from "../lifecycle/apply-look-up.js";
import { applyCancellation, expirePayment, unmoved } from "../lifecycle/apply-outcome.js";
import { LOOK_UP_LIMIT_MS, lookUpDelay } from "../lifecycle/look-up-schedule.js";
import { type Payment, showReconciliationId } from "../lifecycle/payment.js";
import type { Change } from "../lifecycle/tenant-payments.js";
import type { PaymentRun } from "../operations/payment-run.js";

/**
 * Cancels a payment whose approval period has ended, at the service and here. The payment stays open until the service
 * confirms the cancellation or a look-up shows another result; after a day it fails regardless.
 * @param found the service's latest state of the payment, which we have leased.
 */
export async function endApproval(
  run: PaymentRun,
  payment: Payment,
  found: LookUpOutcome,
  now: number,
): Promise<Payment> {
  const { payments } = run;
  const { id } = payment;
  if (found.kind === "unknown" || now < (payment.approvalExpiresAt ?? 0)) {
    return (await payments.change(id, (current, at) => openStill(current, at.getTime()))) ?? payment;
  }
  // Stored before it is sent, each time with a new key: a service may repeat its first response to the same key.
  const begun = await payments.change(id, (current) => {
    const isOpen = current.status === "buyer_approval_pending";
    const unchanged = unmoved(isOpen ? { ...current, voids: current.voids + 1 } : current);
    return { ...unchanged, ...(isOpen ? { lease: "renewed" } : {}) };
  });
  if (begun?.status !== "buyer_approval_pending") return begun ?? payment;
  const outcome = await run.release(begun, `${showReconciliationId(begun)}-end-${begun.voids}`);
  const isCertain = outcome.kind === "done" || outcome.kind === "accepted";
  if (isCertain) {
    return (await payments.change(id, (current, at) => applyCancellation(current, outcome, at.getTime()))) ?? begun;
  }
  const instead = await run.lookUp(begun);
  const after = await payments.change(id, (current, at, refunds) => {
    const looked = applyLookUp(current, instead, at.getTime(), refunds);
    return looked.moved ? looked : openStill(looked.payment, at.getTime());
  });
  return after ?? begun;
}

/** Waits for the end of the approval period. After it, waits half of the time since then, until it is a day ago. */
function openStill(payment: Payment, now: number): Change {
  if (payment.status !== "buyer_approval_pending") return unmoved(payment);
  const late = now - (payment.approvalExpiresAt ?? 0);
  if (late >= LOOK_UP_LIMIT_MS) return expirePayment(payment, "incomplete_buyer_approval", now);
  const delay = late < 0 ? -late : Math.min(lookUpDelay(late), LOOK_UP_LIMIT_MS - late);
  return unmoved({ ...payment, dueAt: new Date(now + delay) });
}
