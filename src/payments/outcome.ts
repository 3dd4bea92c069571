import type { ErrorCode } from "./error-code.js";

export type CvvCode = "match" | "no_match" | "unavailable" | "not_provided";
export type AvsCode =
  | "match"
  | "no_match"
  | "partial_match_address"
  | "partial_match_postcode"
  | "partial_match_name"
  | "unavailable";

/** What the payment service said beside its verdict. What it did not say is absent. */
export interface ProviderCodes {
  /** ISO 8583 two-character form where the service gives it, else its own. */
  readonly authResponseCode?: string | undefined;
  readonly cvv?: CvvCode | undefined;
  readonly avs?: AvsCode | undefined;
  /** The service's own code and text, unmapped, at most 200 characters each. */
  readonly rawCode?: string | undefined;
  readonly rawDescription?: string | undefined;
}

export interface ThreeDSOutcome {
  readonly version?: string | undefined;
  readonly status: "setup_error" | "error" | "declined" | "cancelled" | "complete";
  readonly method?: "challenge" | "frictionless" | undefined;
  readonly error?: { readonly code: string; readonly description: string } | undefined;
}

/** Common to every standing of a payment at its service. */
interface Stated {
  readonly codes: ProviderCodes;
  readonly threeDS?: ThreeDSOutcome | undefined;
}

interface Known extends Stated {
  readonly providerId: string;
  /** From the network. Only approvals yield one. */
  readonly schemeTransactionId?: string | undefined;
}

interface Refusing extends Stated {
  readonly providerId?: string | undefined;
  readonly errorCode: ErrorCode;
}

/** Standings that are final or wait for us. `at` is the service's time where it gives one. */
export type Authorized = Known & { readonly kind: "authorized"; readonly amount: number; readonly at?: Date };
export type Captured = Known & {
  readonly kind: "captured";
  /** Absent: the same as `amount`. */
  readonly authorizedAmount?: number;
  readonly amount: number;
  /** What went back since, where the service says it. */
  readonly refundedAmount?: number;
  readonly at?: Date;
};

/** How a payment stands at its service. Closed: what a service says beyond it is `processing`, never a decline. */
export type PaymentStanding =
  | Authorized
  | Captured
  /** Approved, and the capture is on its way. */
  | (Known & { readonly kind: "capturing"; readonly authorizedAmount: number })
  /** The buyer must approve at `approvalUrl` (GET). */
  | (Known & { readonly kind: "redirect"; readonly approvalUrl: string; readonly expiresAt?: Date })
  | (Known & { readonly kind: "voiding" })
  /** `expired`: the service let the authorization lapse. */
  | (Known & { readonly kind: "voided"; readonly expired: boolean; readonly at?: Date })
  /** The service is at it and will say later. */
  | (Stated & { readonly kind: "processing"; readonly providerId?: string | undefined })
  /** The issuer or the service said no. */
  | (Refusing & { readonly kind: "declined" })
  /** A technical or configuration cause, and certainly no money moved. */
  | (Refusing & { readonly kind: "failed" });

/** Sent, and no answer that can be believed: a time-out, a 5xx, garbage. Money may have moved. */
export interface Unknown {
  readonly kind: "unknown";
  readonly codes: ProviderCodes;
}

export type AuthorizationOutcome = PaymentStanding | Unknown;

/** How a capture, void or refund of a payment ended. `refused` leaves the payment as it was. */
export type FollowUpOutcome =
  | {
      readonly kind: "done";
      /** Of the capture, void or refund, where it has one of its own. */
      readonly providerId?: string | undefined;
      /** Absent: what was asked for. */
      readonly amount?: number;
      readonly at?: Date;
      readonly codes: ProviderCodes;
    }
  /** Taken on; a webhook or a look-up will tell. */
  | { readonly kind: "accepted"; readonly providerId?: string | undefined; readonly codes: ProviderCodes }
  | {
      readonly kind: "refused";
      /** Whether the issuer said no, or something broke. */
      readonly as: "declined" | "failed";
      readonly errorCode: ErrorCode;
      readonly codes: ProviderCodes;
    }
  | Unknown;

/** A refund as a look-up finds it. */
export interface FoundRefund {
  /** Our reference, where the service keeps it. */
  readonly reference: string | undefined;
  readonly providerId: string;
  readonly outcome: FollowUpOutcome;
}

/** A capture or void that the payment service had taken on and that did not happen, as a look-up finds it. */
export interface FoundRefusal {
  readonly operation: "capture" | "void";
  /** What the service calls the capture or void. */
  readonly providerId: string;
  readonly outcome: Extract<FollowUpOutcome, { kind: "refused" }>;
}

export type LookUpOutcome =
  | {
      readonly kind: "found";
      readonly standing: PaymentStanding;
      /** Absent: the service does not list them. */
      readonly refunds?: readonly FoundRefund[];
      /** Of all attempts so far. Absent: the service does not list them. */
      readonly refusals?: readonly FoundRefusal[];
    }
  /** The service answered that it has no such payment. It may still be on its way in. */
  | { readonly kind: "absent" }
  /** The service cannot be asked about this payment: only resending or a webhook helps. */
  | { readonly kind: "unsupported" }
  | Unknown;

export type CredentialsOutcome =
  | { readonly kind: "accepted" }
  | { readonly kind: "refused" }
  /** Not reached, overloaded, or unclear: ask again later. */
  | { readonly kind: "unclear" };
