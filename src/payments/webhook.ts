import type { FollowUpOutcome, PaymentStanding } from "./outcome.js";

/** A request at our webhook address, as its bytes came. */
export interface WebhookDelivery {
  /** By lower-case name. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: Buffer;
}

/** One event of a webhook. Everything in it is verified. */
export interface WebhookEvent {
  /** The service's id of the event, the same in every repetition. At most 200 characters. */
  readonly eventId: string;
  /** By at least one of which the payment is found. */
  readonly payment: { readonly reconciliationId?: string | undefined; readonly providerId?: string | undefined };
  readonly report:
    | { readonly kind: "payment"; readonly standing: PaymentStanding }
    | {
        readonly kind: "capture" | "void";
        /** Of the capture or void itself. */
        readonly providerId: string | undefined;
        readonly outcome: FollowUpOutcome;
      }
    | {
        readonly kind: "refund";
        readonly reference: string | undefined;
        readonly providerId: string | undefined;
        readonly outcome: FollowUpOutcome;
      }
    /** Something changed: look it up. */
    | { readonly kind: "changed" };
}

export type WebhookReading =
  | {
      readonly kind: "verified";
      readonly events: readonly WebhookEvent[];
      /** The body that the service wants as its receipt. Absent: empty. */
      readonly receipt?: string;
    }
  /** No secret is configured, or the signature does not fit. Answered with 401. */
  | { readonly kind: "unverified" }
  /** Verified, and not to be understood. Answered with 400. */
  | { readonly kind: "malformed" };
