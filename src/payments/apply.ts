import { newUuid } from "../base/ids.js";
import { base62Of } from "./addresses.js";
import { withEnded, withEndedSince } from "./ended-operations.js";
import type { ErrorCode } from "./error-code.js";
import type { FollowUpOutcome, PaymentStanding, ProviderCodes } from "./outcome.js";
import { pauseAfter, waitingFor } from "./pauses.js";
import { type Attempt, type Payment, reconciliationIdOf } from "./payment.js";
import { type Event, type Transition, transitionOn } from "./transaction-states.js";

const HOUR_MS = 3_600_000;

/** A payment as an answer left it. */
export interface Step {
  readonly payment: Payment;
  /** The status changed. */
  readonly moved: boolean;
  /** Money is held or taken now that was not before. */
  readonly approved: boolean;
}

/** Applies how the payment service says a payment stands. What means no legal step changes nothing but codes. */
export function applyStanding(payment: Payment, standing: PaymentStanding, now: number): Step {
  const { order } = payment;
  if (standing.kind === "processing") {
    const known = { ...payment, providerId: standing.providerId ?? payment.providerId };
    return stayed(withCodes(known, standing.codes));
  }
  if (standing.kind === "redirect" && order.isMerchantInitiated) {
    const { providerId, codes } = standing;
    return applyStanding(
      payment,
      { kind: "declined", errorCode: "requires_buyer_authentication", providerId, codes },
      now,
    );
  }
  const step = transitionOn(payment, standing.kind, order.intent);
  if (!step) return stayed(payment);
  const known: Payment = {
    ...withCodes(payment, standing.codes),
    providerId: standing.providerId ?? payment.providerId,
    threeDSecure: standing.threeDS ?? payment.threeDSecure,
    ...amountsAfter(payment, standing, now),
  };
  return take(known, step, now, standing.kind);
}

/** The time for something is over, or we stop asking. */
export function giveUp(payment: Payment, errorCode: ErrorCode, now: number): Step {
  const step = transitionOn(payment, "given_up", payment.order.intent);
  return step ? take({ ...payment, errorCode }, step, now, "given_up") : stayed(payment);
}

/** A capture or void that the payment service said something of. */
export interface FollowUp {
  readonly operation: "capture" | "void";
  /** Captured, unless the service says how much. */
  readonly amount: number;
  /** Of the attempt that it was. Absent: none of ours that is known. */
  readonly key: string | undefined;
  /** What the service calls it, where it said so. */
  readonly providerId?: string | undefined;
}

/**
 * Applies how a capture or void ended. What was done is done, whoever asked for it. All else is said of one attempt, and
 * counts only while that one is under way: a webhook may have ended it before its answer came.
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
    return follow(coded, operation === "capture" ? "captured" : "voided", now, after);
  }
  const { attempt } = coded;
  if (attempt === undefined || attempt.key !== key) return stayed(payment);
  switch (outcome.kind) {
    case "accepted":
    case "unknown": {
      const named = outcome.kind === "accepted" ? outcome.providerId : undefined;
      const known = { ...attempt, providerId: named ?? attempt.providerId };
      const taken = waitingFor({ ...coded, attempt: known }, outcome.kind, now);
      const step = follow(taken, operation === "capture" ? "capturing" : "voiding", now);
      return step.moved ? step : stayed(taken);
    }
    case "refused": {
      const ended = withEnded(coded, attempt.providerId, providerId);
      const refused: Payment = { ...ended, errorCode: outcome.errorCode, attempt: undefined, dueAt: undefined };
      const step = follow(refused, operation === "capture" ? "capture_refused" : "void_refused", now);
      return step.moved ? step : stayed({ ...refused, updatedAt: now });
    }
  }
}

/** Applies what came of calling off a payment whose buyer's time was over. Only a certain end fails it. */
export function applyCallingOff(payment: Payment, outcome: FollowUpOutcome, now: number): Step {
  if (outcome.kind !== "done" && outcome.kind !== "accepted") return stayed(payment);
  const { providerId } = outcome;
  const called = withEnded(payment, providerId);
  if (payment.status === "buyer_approval_pending") {
    const given = giveUp(called, "incomplete_buyer_approval", now);
    // What was only taken on is looked at once more.
    const dueAt = outcome.kind === "accepted" ? new Date(now + pauseAfter(0)) : given.payment.dueAt;
    return { ...given, payment: { ...given.payment, dueAt } };
  }
  // The approval was noted while the request was on its way: it is released with the rest.
  if (outcome.kind === "done") {
    return applyFollowUp(called, { operation: "void", amount: 0, key: undefined }, outcome, now);
  }
  const step = follow(payment, "voiding", now);
  const { attempt } = step.payment;
  // It is the void under way from now on, unless that is another one.
  if (!step.moved || attempt === undefined || attempt.key === payment.attempt?.key) {
    return { ...step, payment: withEnded(step.payment, providerId) };
  }
  return { ...step, payment: { ...step.payment, attempt: { ...attempt, providerId } } };
}

/** A capture, void or refund that is about to begin, with a key of its own: the same one however often it is sent. */
export function beginAttempt(payment: Payment, operation: "capture" | "void", amount: number, now: number): Payment {
  const captures = payment.captures + (operation === "capture" ? 1 : 0);
  const voids = payment.voids + (operation === "void" ? 1 : 0);
  const count = operation === "capture" ? captures : voids;
  const key = `${reconciliationIdOf(payment)}-${operation === "capture" ? "cap" : "void"}-${count}`;
  return { ...payment, captures, voids, attempt: { operation, key, amount, state: "sent", tries: 0, since: now } };
}

export function beginRefundAttempt(
  payment: Payment,
  amount: number,
  now: number,
): Payment & { readonly attempt: Attempt } {
  const refundId = newUuid();
  const key = `${base62Of(refundId)}-ref`;
  return { ...payment, attempt: { operation: "refund", key, amount, refundId, state: "sent", tries: 0, since: now } };
}

/** Takes the step that an event means, with what is known after it. Where it means none, that changes nothing. */
function follow(payment: Payment, event: Event, now: number, known: Partial<Payment> = {}): Step {
  const step = transitionOn(payment, event, payment.order.intent);
  return step ? take({ ...payment, ...known }, step, now, event) : stayed(payment);
}

/** Takes a step, and plans what has to follow it: a look after what is pending, or an operation of our own. */
function take(payment: Payment, { to, outcome, next }: Transition, now: number, event: Event): Step {
  const moved: Payment = {
    ...payment,
    status: to,
    intentOutcome: payment.intentOutcome === "succeeded" ? "succeeded" : (outcome ?? payment.intentOutcome),
    updatedAt: now,
  };
  const wasOpen = payment.status === "processing" || payment.status === "buyer_approval_pending";
  const approved = wasOpen && (event === "authorized" || event === "captured" || event === "capturing");
  return { payment: withEndedSince(payment, planned(moved, next, now)), moved: true, approved };
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
      return attempt.state === "sent" ? waitingFor(payment, "accepted", now) : payment;
    }
    const begun = beginAttempt(payment, operation, payment.authorizedAmount, now);
    return waitingFor(begun, "accepted", now);
  }
  if (attempt?.operation === "refund") return payment;
  return { ...payment, attempt: undefined, dueAt: undefined };
}

function amountsAfter(
  payment: Payment,
  standing: Exclude<PaymentStanding, { kind: "processing" }>,
  now: number,
): Partial<Payment> {
  switch (standing.kind) {
    case "authorized":
      return {
        authorizedAmount: standing.amount,
        authorizedAt: payment.authorizedAt ?? standing.at?.getTime() ?? now,
        schemeTransactionId: standing.schemeTransactionId ?? payment.schemeTransactionId,
      };
    case "captured":
      return {
        ...captured(payment, standing.amount, standing.at?.getTime() ?? now),
        authorizedAmount: standing.authorizedAmount ?? Math.max(payment.authorizedAmount, standing.amount),
        refundedAmount: Math.max(payment.refundedAmount, standing.refundedAmount ?? 0),
        schemeTransactionId: standing.schemeTransactionId ?? payment.schemeTransactionId,
      };
    case "capturing":
      return {
        authorizedAmount: standing.authorizedAmount,
        authorizedAt: payment.authorizedAt ?? now,
        schemeTransactionId: standing.schemeTransactionId ?? payment.schemeTransactionId,
      };
    case "redirect":
      return { approvalUrl: standing.approvalUrl, approvalExpiresAt: standing.expiresAt?.getTime() ?? now + HOUR_MS };
    case "voided": {
      const after = voided(payment, standing.at?.getTime() ?? now);
      const isHeld = payment.status !== "buyer_approval_pending";
      return standing.expired && isHeld ? { ...after, errorCode: "expired_authorization" } : after;
    }
    case "voiding":
      return {};
    case "declined":
      return { errorCode: standing.errorCode };
    case "failed": {
      // Called off by us, after the buyer's time.
      const { status, approvalExpiresAt = Number.POSITIVE_INFINITY } = payment;
      const isOurs =
        status === "buyer_approval_pending" && approvalExpiresAt <= now && standing.errorCode === "canceled";
      return { errorCode: isOurs ? "incomplete_buyer_approval" : standing.errorCode };
    }
  }
}

function captured(payment: Payment, amount: number, at: number): Partial<Payment> {
  return {
    capturedAmount: amount,
    capturedAt: at,
    authorizedAmount: Math.max(payment.authorizedAmount, amount),
    authorizedAt: payment.authorizedAt ?? at,
    // A capture that was refused once and then went through leaves no error behind; what was given up keeps its reason.
    errorCode: payment.status === "authorization_failed" ? payment.errorCode : undefined,
  };
}

/** What was called off before a buyer approved has failed: nothing was held that could be released. */
function voided(payment: Payment, at: number): Partial<Payment> {
  if (payment.status !== "buyer_approval_pending") return { voidedAt: at };
  const isOver = (payment.approvalExpiresAt ?? 0) <= at;
  return { errorCode: isOver ? "incomplete_buyer_approval" : "canceled" };
}

/** What the service did not say this time stays as it was said before. */
function withCodes(payment: Payment, codes: ProviderCodes): Payment {
  const said = Object.fromEntries(Object.entries(codes).filter(([, value]) => value !== undefined));
  return { ...payment, codes: { ...payment.codes, ...said } };
}

function stayed(payment: Payment): Step {
  return { payment, moved: false, approved: false };
}
