import type { ErrorCode } from "./error-code.js";

export type CvvCode = "match" | "no_match" | "unavailable" | "not_provided";
export type AvsCode =
  | "match"
  | "no_match"
  | "partial_match_address"
  | "partial_match_postcode"
  | "partial_match_name"
  | "unavailable";

/** Details that the payment service gave besides its result. Missing details are absent. */
export interface ProviderCodes {
  /** Two characters as in ISO 8583 if the service gives them, otherwise its own code. */
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

interface Stated {
  readonly codes: ProviderCodes;
  readonly threeDS?: ThreeDSOutcome | undefined;
}

interface Known extends Stated {
  readonly providerId: string;
  /** From the network. Only approvals have one. */
  readonly schemeTransactionId?: string | undefined;
}

interface Refusing extends Stated {
  readonly providerId?: string | undefined;
  readonly errorCode: ErrorCode;
}

/** States that are final or wait for us. `at` is the service's time, if it gives one. */
export type Authorized = Known & { readonly kind: "authorized"; readonly amount: number; readonly at?: Date };
export type Captured = Known & {
  readonly kind: "captured";
  /** Absent: the same as `amount`. */
  readonly authorizedAmount?: number;
  readonly amount: number;
  /** The amount refunded since, if the service reports it. */
  readonly refundedAmount?: number;
  readonly at?: Date;
};

/** A payment's state at its service. Closed: any other state of a service becomes `processing`, never a decline. */
export type PaymentState =
  | Authorized
  | Captured
  /** Approved, and the capture is under way. */
  | (Known & { readonly kind: "capturing"; readonly authorizedAmount: number })
  /** The buyer must approve at `approvalUrl` (GET). */
  | (Known & { readonly kind: "redirect"; readonly approvalUrl: string; readonly expiresAt?: Date })
  | (Known & { readonly kind: "voiding" })
  /** `expired`: the service let the authorization lapse. */
  | (Known & { readonly kind: "voided"; readonly expired: boolean; readonly at?: Date })
  /** The service is still processing it and will report later. */
  | (Stated & { readonly kind: "processing"; readonly providerId?: string | undefined })
  | (Refusing & { readonly kind: "declined" })
  /** A technical or configuration cause, and certainly no money moved. */
  | (Refusing & { readonly kind: "failed" });

/** The request was sent, and no trustworthy response arrived: a time-out, a 5xx, garbage. Money may have moved. */
export interface Unknown {
  readonly kind: "unknown";
  readonly codes: ProviderCodes;
}

export type AuthorizationOutcome = PaymentState | Unknown;

/** How a capture, void or refund of a payment ended. `refused` leaves the payment as it was. */
export type FollowUpOutcome =
  | {
      readonly kind: "done";
      /** The id of the capture, void or refund, if it has one of its own. */
      readonly providerId?: string | undefined;
      /** Default: the requested amount. */
      readonly amount?: number;
      readonly at?: Date;
      readonly codes: ProviderCodes;
    }
  /** Accepted; a webhook or a look-up will report the end. */
  | { readonly kind: "accepted"; readonly providerId?: string | undefined; readonly codes: ProviderCodes }
  | {
      readonly kind: "refused";
      /** Whether the issuer refused, or an error occurred. */
      readonly as: "declined" | "failed";
      readonly errorCode: ErrorCode;
      readonly codes: ProviderCodes;
    }
  | Unknown;

export interface FoundRefund {
  /** Our reference, if the service stores it. */
  readonly reference: string | undefined;
  readonly providerId: string;
  readonly outcome: FollowUpOutcome;
}

/** A capture or void in the result of a look-up that the payment service accepted and later refused. */
export interface FoundRefusal {
  readonly operation: "capture" | "void";
  /** The service's id of the capture or void. */
  readonly providerId: string;
  readonly outcome: Extract<FollowUpOutcome, { kind: "refused" }>;
}

export type LookUpOutcome =
  | {
      readonly kind: "found";
      readonly state: PaymentState;
      /** Absent: the service does not list them. */
      readonly refunds?: readonly FoundRefund[];
      /** Of all attempts so far. Absent: the service does not list them. */
      readonly refusals?: readonly FoundRefusal[];
    }
  /** The service has no such payment. The request may still be on its way. */
  | { readonly kind: "absent" }
  /** The service cannot look up this payment: only resending or a webhook helps. */
  | { readonly kind: "unsupported" }
  | Unknown;

export type CredentialsOutcome =
  | { readonly kind: "accepted" }
  | { readonly kind: "refused" }
  /** Not reached, overloaded, or unclear: ask again later. */
  | { readonly kind: "unclear" };
