import type { PaymentState } from "../contract/outcome.js";
import type { Intent } from "../contract/payment-request.js";

export const STATUSES = [
  "processing",
  "buyer_approval_pending",
  "authorization_succeeded",
  "authorization_failed",
  "authorization_declined",
  "capture_pending",
  "capture_succeeded",
  "authorization_void_pending",
  "authorization_voided",
] as const;
export type Status = (typeof STATUSES)[number];

export type IntentOutcome = "pending" | "succeeded" | "failed";

/**
 * Events of a transaction: the state reported by the payment service, a refusal of a capture or void that it had
 * accepted, and the end of the approval period or of reconciliation.
 */
export type Event = Exclude<PaymentState["kind"], "processing"> | "capture_refused" | "void_refused" | "expired";

export interface Transition {
  readonly from: Status;
  readonly on: Event;
  readonly to: Status;
  /** Absent: any intent. */
  readonly intent?: Intent;
  /** Only after this outcome of the intent. Absent: any outcome. */
  readonly after?: IntentOutcome;
  /** Absent: unchanged. An intent that was reached stays reached. */
  readonly outcome?: IntentOutcome;
  /** The operation that we must start next. */
  readonly next?: "void" | "refund" | "capture";
}

/**
 * Every legal step. Any other event leaves a transaction unchanged: late, repeated and
 * out-of-order messages of a payment service are absorbed. The first match counts.
 */
export const TRANSITIONS: readonly Transition[] = [
  { from: "processing", on: "authorized", to: "authorization_succeeded", intent: "authorize", outcome: "succeeded" },
  { from: "processing", on: "authorized", to: "capture_pending", intent: "capture", next: "capture" },
  { from: "processing", on: "captured", to: "capture_succeeded", outcome: "succeeded" },
  { from: "processing", on: "capturing", to: "capture_pending", intent: "authorize", outcome: "succeeded" },
  { from: "processing", on: "capturing", to: "capture_pending", intent: "capture" },
  { from: "processing", on: "redirect", to: "buyer_approval_pending" },
  { from: "processing", on: "declined", to: "authorization_declined", outcome: "failed" },
  { from: "processing", on: "failed", to: "authorization_failed", outcome: "failed" },
  { from: "processing", on: "voiding", to: "authorization_void_pending", outcome: "failed" },
  { from: "processing", on: "voided", to: "authorization_voided", outcome: "failed" },
  { from: "processing", on: "expired", to: "authorization_failed", outcome: "failed" },

  {
    from: "buyer_approval_pending",
    on: "authorized",
    to: "authorization_succeeded",
    intent: "authorize",
    outcome: "succeeded",
  },
  { from: "buyer_approval_pending", on: "authorized", to: "capture_pending", intent: "capture", next: "capture" },
  { from: "buyer_approval_pending", on: "captured", to: "capture_succeeded", outcome: "succeeded" },
  { from: "buyer_approval_pending", on: "capturing", to: "capture_pending", intent: "authorize", outcome: "succeeded" },
  { from: "buyer_approval_pending", on: "capturing", to: "capture_pending", intent: "capture" },
  { from: "buyer_approval_pending", on: "declined", to: "authorization_declined", outcome: "failed" },
  { from: "buyer_approval_pending", on: "failed", to: "authorization_failed", outcome: "failed" },
  { from: "buyer_approval_pending", on: "voided", to: "authorization_failed", outcome: "failed" },
  { from: "buyer_approval_pending", on: "expired", to: "authorization_failed", outcome: "failed" },

  // A failed payment that could not be released may still be captured by its owner, and is then kept.
  {
    from: "authorization_succeeded",
    on: "capturing",
    to: "capture_pending",
    after: "failed",
    outcome: "pending",
  },
  { from: "authorization_succeeded", on: "capturing", to: "capture_pending" },
  { from: "authorization_succeeded", on: "captured", to: "capture_succeeded", outcome: "succeeded" },
  { from: "authorization_succeeded", on: "voiding", to: "authorization_void_pending" },
  { from: "authorization_succeeded", on: "voided", to: "authorization_voided" },

  // A payment that failed earlier is not kept, although its capture was already under way.
  { from: "capture_pending", on: "captured", to: "capture_succeeded", after: "failed", next: "refund" },
  { from: "capture_pending", on: "captured", to: "capture_succeeded", outcome: "succeeded" },
  { from: "capture_pending", on: "capture_refused", to: "authorization_void_pending", after: "failed", next: "void" },
  { from: "capture_pending", on: "capture_refused", to: "authorization_succeeded", intent: "authorize" },
  {
    from: "capture_pending",
    on: "capture_refused",
    to: "authorization_void_pending",
    intent: "capture",
    outcome: "failed",
    next: "void",
  },
  { from: "capture_pending", on: "voided", to: "authorization_voided" },

  { from: "authorization_void_pending", on: "voided", to: "authorization_voided" },
  { from: "authorization_void_pending", on: "void_refused", to: "authorization_succeeded" },
  { from: "authorization_void_pending", on: "captured", to: "capture_succeeded", after: "failed", next: "refund" },
  { from: "authorization_void_pending", on: "captured", to: "capture_succeeded" },

  // An approval after we failed the payment is never left open.
  { from: "authorization_failed", on: "authorized", to: "authorization_void_pending", next: "void" },
  { from: "authorization_failed", on: "capturing", to: "capture_pending" },
  { from: "authorization_failed", on: "captured", to: "capture_succeeded", next: "refund" },
];

/** The step that an event causes in a transaction; undefined if it causes no step. */
export function transitionOn(
  { status, intentOutcome }: { readonly status: Status; readonly intentOutcome: IntentOutcome },
  on: Event,
  intent: Intent,
): Transition | undefined {
  return TRANSITIONS.find(
    (step) =>
      step.from === status &&
      step.on === on &&
      (step.intent ?? intent) === intent &&
      (step.after ?? intentOutcome) === intentOutcome,
  );
}
