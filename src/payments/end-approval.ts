import type { Clock } from "../base/clock.js";
import type { TenantId } from "../base/ids.js";
import type { TenantKeys } from "../crypto/tenant-keys.js";
import { applyCancellation, expirePayment } from "./apply.js";
import type { Connection } from "./connection.js";
import { applyLookUp, lookUp } from "./look-up.js";
import { LOOK_UP_LIMIT_MS, lookUpDelay } from "./look-up-schedule.js";
import type { FollowUpOutcome, LookUpOutcome } from "./outcome.js";
import { type Payment, referenceOf } from "./payment.js";
import { type Change, changePayment } from "./payment-changes.js";
import type { PerformParts } from "./perform.js";

/**
 * Cancels a payment whose approval period has ended, at the service and here. The payment stays open until the service
 * confirms the cancellation or a look-up shows another result; after a day it fails regardless.
 * @param found the service's latest state of the payment, which we have leased.
 */
export async function endApproval(
  parts: PerformParts & { readonly clock: Clock },
  keys: TenantKeys,
  tenantId: TenantId,
  payment: Payment,
  connection: Connection,
  found: LookUpOutcome,
): Promise<Payment> {
  const change = (apply: Parameters<typeof changePayment>[4]) =>
    changePayment(parts.database, keys, tenantId, payment.id, apply);
  if (found.kind === "unknown" || parts.clock.now() < (payment.approvalExpiresAt ?? 0)) {
    return (await change((current, now) => openStill(current, now.getTime()))) ?? payment;
  }
  // Stored before it is sent, each time with a new key: a service may repeat its first response to the same key.
  const begun = await change((current) => {
    const isOpen = current.status === "buyer_approval_pending";
    return { ...unmoved(isOpen ? { ...current, voids: current.voids + 1 } : current), goesOn: isOpen };
  });
  if (begun?.status !== "buyer_approval_pending") return begun ?? payment;
  const outcome = await callOff(parts, tenantId, begun, connection);
  const isCertain = outcome.kind === "done" || outcome.kind === "accepted";
  if (isCertain) return (await change((current, now) => applyCancellation(current, outcome, now.getTime()))) ?? begun;
  const instead = await lookUp(parts, tenantId, begun, connection);
  const after = await change((current, at, refunds) => {
    const now = at.getTime();
    const looked = applyLookUp(current, instead, now, refunds);
    return looked.moved ? looked : openStill(looked.payment, now);
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

async function callOff(
  { connectors, onDefect }: PerformParts,
  tenantId: TenantId,
  payment: Payment,
  connection: Connection,
): Promise<FollowUpOutcome> {
  const reference = referenceOf(payment);
  const idempotencyKey = `${reference.reconciliationId}-end-${payment.voids}`;
  try {
    const context = connectors.contextOf(tenantId, connection);
    return await connectors.of(connection.formula.id).void(context, { payment: reference, idempotencyKey });
  } catch (error) {
    onDefect(tenantId, error);
    return { kind: "unknown", codes: { rawCode: "internal" } };
  }
}

function unmoved(payment: Payment): Change {
  return { payment, moved: false, approved: false };
}
