import { HOUR_MS } from "../../base/clock.js";
import { compactUuid } from "../../base/compact-uuid.js";
import { newUuid } from "../../base/ids.js";
import type { ErrorCode } from "../contract/error-code.js";
import type { FollowUpOutcome, PaymentState, ProviderCodes } from "../contract/outcome.js";
import { rememberEnded, rememberEndedAttempt } from "./ended-operations.js";
import { lookUpDelay, scheduleLookUp } from "./look-up-schedule.js";
import { type Attempt, type Payment, showReconciliationId } from "./payment.js";
import { type Event, type Transition, transitionOn } from "./transaction-states.js";

export interface Step {
  readonly payment: Payment;
  readonly moved: boolean;
  /** Money is newly held or taken. */
  readonly approved: boolean;
}

export function unmoved(payment: Payment): Step {
  return { payment, moved: false, approved: false };
}

/** Applies the state that the payment service reports. An illegal transition changes nothing. */
export function applyState(payment: Payment, state: PaymentState, now: number): Step {
  const { order } = payment;
  if (state.kind === "processing") {
    const known = { ...payment, providerId: state.providerId ?? payment.providerId };
    return unmoved(withCodes(known, state.codes));
  }
  if (state.kind === "redirect" && order.isMerchantInitiated) {
    const { providerId, codes } = state;
    return applyState(
      payment,
      { kind: "declined", errorCode: "requires_buyer_authentication", providerId, codes },
      now,
    );
  }
  const step = transitionOn(payment, state.kind, order.intent);
  if (!step) return unmoved(payment);
  const known: Payment = {
    ...withCodes(payment, state.codes),
    providerId: state.providerId ?? payment.providerId,
    threeDSecure: state.threeDS ?? payment.threeDSecure,
    ...amountsAfter(payment, state, now),
  };
  return takeStep(known, step, now, state.kind);
}

/** Fails a payment after its deadline or after the last reconciliation. */
export function expirePayment(payment: Payment, errorCode: ErrorCode, now: number): Step {
  const step = transitionOn(payment, "expired", payment.order.intent);
  return step ? takeStep({ ...payment, errorCode }, step, now, "expired") : unmoved(payment);
}

export interface FollowUp {
  readonly operation: "capture" | "void";
  /** The captured amount. Default: the requested amount. */
  readonly amount: number;
  /** Key of the attempt. Absent if no known attempt of ours matches. */
  readonly key: string | undefined;
  /** The service's id of the operation, if it gave one. */
  readonly providerId?: string | undefined;
}

/**
 * A success always counts, even if another party requested it. Any other end counts only while its attempt is under
 * way: a webhook may have ended the attempt before the response arrived.
 */
export function applyFollowUp(
  payment: Payment,
  { operation, amount, key, providerId }: FollowUp,
  outcome: FollowUpOutcome,
  now: number,
): Step {
  const coded = withCodes(payment, outcome.codes);
  if (outcome.kind === "done") {
    const at = outcome.at?.getTime() ?? now;
    const after = operation === "capture" ? captured(coded, outcome.amount ?? amount, at) : voided(payment, at);
    return stepOn(coded, operation === "capture" ? "captured" : "voided", now, after);
  }
  const { attempt } = coded;
  if (attempt === undefined || attempt.key !== key) return unmoved(payment);
  switch (outcome.kind) {
    case "accepted":
    case "unknown": {
      const named = outcome.kind === "accepted" ? outcome.providerId : undefined;
      const known = { ...attempt, providerId: named ?? attempt.providerId };
      const taken = scheduleLookUp({ ...coded, attempt: known }, outcome.kind, now);
      const step = stepOn(taken, operation === "capture" ? "capturing" : "voiding", now);
      return step.moved ? step : unmoved(taken);
    }
    case "refused": {
      const ended = rememberEnded(coded, attempt.providerId, providerId);
      const refused: Payment = { ...ended, errorCode: outcome.errorCode, attempt: undefined, dueAt: undefined };
      const step = stepOn(refused, operation === "capture" ? "capture_refused" : "void_refused", now);
      return step.moved ? step : unmoved({ ...refused, updatedAt: now });
    }
  }
}

/** Applies the result of canceling a payment whose approval period has ended. Only a certain end fails the payment. */
export function applyCancellation(payment: Payment, outcome: FollowUpOutcome, now: number): Step {
  if (outcome.kind !== "done" && outcome.kind !== "accepted") return unmoved(payment);
  const { providerId } = outcome;
  const called = rememberEnded(payment, providerId);
  if (payment.status === "buyer_approval_pending") {
    const given = expirePayment(called, "incomplete_buyer_approval", now);
    // An accepted request needs one more look-up.
    const dueAt = outcome.kind === "accepted" ? new Date(now + lookUpDelay(0)) : given.payment.dueAt;
    return { ...given, payment: { ...given.payment, dueAt } };
  }
  // The approval arrived while the request was under way: it is released too.
  if (outcome.kind === "done") {
    return applyFollowUp(called, { operation: "void", amount: 0, key: undefined }, outcome, now);
  }
  const step = stepOn(payment, "voiding", now);
  const { attempt } = step.payment;
  // The void becomes the attempt under way, unless another attempt already is.
  if (!step.moved || attempt === undefined || attempt.key === payment.attempt?.key) {
    return { ...step, payment: rememberEnded(step.payment, providerId) };
  }
  return { ...step, payment: { ...step.payment, attempt: { ...attempt, providerId } } };
}

/** Prepares a capture or void with its own key. The key is the same every time the request is sent. */
export function beginAttempt(payment: Payment, operation: "capture" | "void", amount: number, now: number): Payment {
  const captures = payment.captures + (operation === "capture" ? 1 : 0);
  const voids = payment.voids + (operation === "void" ? 1 : 0);
  const count = operation === "capture" ? captures : voids;
  const key = `${showReconciliationId(payment)}-${operation === "capture" ? "cap" : "void"}-${count}`;
  return { ...payment, captures, voids, attempt: { operation, key, amount, state: "sent", tries: 0, since: now } };
}

export function beginRefundAttempt(
  payment: Payment,
  amount: number,
  now: number,
): Payment & { readonly attempt: Attempt } {
  const refundId = newUuid();
  const key = `${compactUuid(refundId)}-ref`;
  return { ...payment, attempt: { operation: "refund", key, amount, refundId, state: "sent", tries: 0, since: now } };
}

/** Takes the step for an event and merges what is known after it. An event without a legal step changes nothing. */
function stepOn(payment: Payment, event: Event, now: number, known: Partial<Payment> = {}): Step {
  const step = transitionOn(payment, event, payment.order.intent);
  return step ? takeStep({ ...payment, ...known }, step, now, event) : unmoved(payment);
}

/** Takes a step and schedules its follow-up: a look-up for a pending state, or an operation of our own. */
function takeStep(payment: Payment, { to, outcome, next }: Transition, now: number, event: Event): Step {
  const moved: Payment = {
    ...payment,
    status: to,
    intentOutcome: payment.intentOutcome === "succeeded" ? "succeeded" : (outcome ?? payment.intentOutcome),
    updatedAt: now,
  };
  const wasOpen = payment.status === "processing" || payment.status === "buyer_approval_pending";
  const approved = wasOpen && (event === "authorized" || event === "captured" || event === "capturing");
  return { payment: rememberEndedAttempt(payment, planned(moved, next, now)), moved: true, approved };
}

function planned(payment: Payment, next: Transition["next"], now: number): Payment {
  const { status, attempt } = payment;
  const at = new Date(now);
  if (next === "capture" || next === "void") {
    return { ...beginAttempt(payment, next, next === "capture" ? payment.authorizedAmount : 0, now), dueAt: at };
  }
  if (next === "refund") return { ...beginRefundAttempt(payment, payment.capturedAmount, now), dueAt: at };
  if (status === "buyer_approval_pending") {
    return { ...payment, attempt: undefined, dueAt: new Date(payment.approvalExpiresAt ?? now + HOUR_MS) };
  }
  if (status === "capture_pending" || status === "authorization_void_pending") {
    const operation = status === "capture_pending" ? "capture" : "void";
    if (attempt?.operation === operation) {
      return attempt.state === "sent" ? scheduleLookUp(payment, "accepted", now) : payment;
    }
    const begun = beginAttempt(payment, operation, payment.authorizedAmount, now);
    return scheduleLookUp(begun, "accepted", now);
  }
  if (attempt?.operation === "refund") return payment;
  return { ...payment, attempt: undefined, dueAt: undefined };
}

function amountsAfter(
  payment: Payment,
  state: Exclude<PaymentState, { kind: "processing" }>,
  now: number,
): Partial<Payment> {
  switch (state.kind) {
    case "authorized":
      return {
        authorizedAmount: state.amount,
        authorizedAt: payment.authorizedAt ?? state.at?.getTime() ?? now,
        schemeTransactionId: state.schemeTransactionId ?? payment.schemeTransactionId,
      };
    case "captured":
      return {
        ...captured(payment, state.amount, state.at?.getTime() ?? now),
        authorizedAmount: state.authorizedAmount ?? Math.max(payment.authorizedAmount, state.amount),
        refundedAmount: Math.max(payment.refundedAmount, state.refundedAmount ?? 0),
        schemeTransactionId: state.schemeTransactionId ?? payment.schemeTransactionId,
      };
    case "capturing":
      return {
        authorizedAmount: state.authorizedAmount,
        authorizedAt: payment.authorizedAt ?? now,
        schemeTransactionId: state.schemeTransactionId ?? payment.schemeTransactionId,
      };
    case "redirect":
      return { approvalUrl: state.approvalUrl, approvalExpiresAt: state.expiresAt?.getTime() ?? now + HOUR_MS };
    case "voided": {
      const after = voided(payment, state.at?.getTime() ?? now);
      const isHeld = payment.status !== "buyer_approval_pending";
      return state.expired && isHeld ? { ...after, errorCode: "expired_authorization" } : after;
    }
    case "voiding":
      return {};
    case "declined":
      return { errorCode: state.errorCode };
    case "failed": {
      // We canceled the payment after the approval period.
      const { status, approvalExpiresAt = Number.POSITIVE_INFINITY } = payment;
      const isOurs = status === "buyer_approval_pending" && approvalExpiresAt <= now && state.errorCode === "canceled";
      return { errorCode: isOurs ? "incomplete_buyer_approval" : state.errorCode };
    }
  }
}

function captured(payment: Payment, amount: number, at: number): Partial<Payment> {
  return {
    capturedAmount: amount,
    capturedAt: at,
    authorizedAmount: Math.max(payment.authorizedAmount, amount),
    authorizedAt: payment.authorizedAt ?? at,
    // A capture that succeeds after a refusal leaves no error behind; a payment that failed keeps its reason.
    errorCode: payment.status === "authorization_failed" ? payment.errorCode : undefined,
  };
}

/** A payment canceled before the buyer approved has failed: nothing was held that could be released. */
function voided(payment: Payment, at: number): Partial<Payment> {
  if (payment.status !== "buyer_approval_pending") return { voidedAt: at };
  const isOver = (payment.approvalExpiresAt ?? 0) <= at;
  return { errorCode: isOver ? "incomplete_buyer_approval" : "canceled" };
}

/** Merges the codes. Codes missing from this response keep their earlier values. */
function withCodes(payment: Payment, codes: ProviderCodes): Payment {
  const said = Object.fromEntries(Object.entries(codes).filter(([, value]) => value !== undefined));
  return { ...payment, codes: { ...payment.codes, ...said } };
}
