import type { FollowUpOutcome, PaymentState } from "./outcome.js";

/** A request at our webhook address, byte for byte. */
export interface WebhookDelivery {
  /** By lower-case name. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: Buffer;
}

export interface WebhookEvent {
  /** The payment's ids, at least one. */
  readonly payment: { readonly reconciliationId?: string | undefined; readonly providerId?: string | undefined };
  readonly report:
    | { readonly kind: "payment"; readonly state: PaymentState }
    | {
        readonly kind: "capture" | "void";
        /** The id of the capture or void itself. */
        readonly providerId: string | undefined;
        readonly outcome: FollowUpOutcome;
      }
    | {
        readonly kind: "refund";
        readonly reference: string | undefined;
        readonly providerId: string | undefined;
        readonly outcome: FollowUpOutcome;
      }
    /** The payment changed: look it up. */
    | { readonly kind: "changed" };
}

export type WebhookReading =
  | {
      readonly kind: "verified";
      readonly events: readonly WebhookEvent[];
      /** The body that the service expects as its receipt. Default: empty. */
      readonly receipt?: string;
    }
  /** No secret is configured, or the signature is invalid. The response is a 401. */
  | { readonly kind: "unverified" }
  /** Verified, but unreadable. The response is a 400. */
  | { readonly kind: "malformed" };
