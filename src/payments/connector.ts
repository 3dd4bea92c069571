import type { TenantId } from "../base/ids.js";
import type { JsonObject } from "../base/json.js";
import type { Sensitive } from "../crypto/sensitive.js";
import type { SensitiveCard } from "./card.js";
import type { ErrorCode } from "./error-code.js";
import type { FormulaId } from "./formulas.js";
import type { ProviderHttp } from "./provider-http.js";

/** How a connector reaches its payment service for one connection of one tenant. */
export interface ConnectorContext {
  readonly tenantId: TenantId;
  /** What the tenant filled in, by the formula's keys; empty values are absent. */
  readonly fields: ReadonlyMap<string, Sensitive<string>>;
  readonly send: ProviderHttp;
  /** Business time, for what is computed from it. */
  readonly now: Date;
}

export type Intent = "authorize" | "capture";
export type PaymentSource = "ecommerce" | "card_on_file" | "recurring";

/** External 3DS data of a session that was authenticated with us: Y or A, or the caller insists. */
export interface ThreeDSData {
  readonly version: string;
  /** CAVV, base64. */
  readonly authenticationValue: string;
  /** Two digits. */
  readonly eci: string;
  readonly dsTransactionId: string;
  /** The directory's answer (ARes transStatus). */
  readonly directoryStatus: string;
  /** The status after a challenge (RReq transStatus); the directory's where there was none. */
  readonly authenticationStatus: string;
  readonly statusReason: string | undefined;
  readonly method: "frictionless" | "challenge";
}

/** Money in the currency's ISO 4217 minor units. */
export interface Money {
  readonly amount: number;
  /** ISO 4217, upper case. */
  readonly currency: string;
}

/** An operation that changes something: the same key never does it twice. */
interface Keyed {
  /** Derived from the transaction, different for each operation, at most 40 of [0-9A-Za-z-]. */
  readonly idempotencyKey: string;
}

/** What is asked of the payment service. Nothing in it is to be logged or stored by a connector. */
export interface AuthorizationRequest extends Keyed {
  /** Our reference at the payment service: 22 letters and digits. */
  readonly reconciliationId: string;
  readonly money: Money;
  readonly intent: Intent;
  readonly card: SensitiveCard;
  /** ISO 3166-1 alpha-2. */
  readonly country: string | undefined;
  readonly externalIdentifier: string | undefined;
  readonly paymentSource: PaymentSource;
  readonly isMerchantInitiated: boolean;
  readonly isSubsequentPayment: boolean;
  readonly previousSchemeTransactionId: string | undefined;
  readonly threeDS: ThreeDSData | undefined;
  /** The caller's own; connectors pass on its string values where the service takes them. */
  readonly metadata: JsonObject;
  /** Our signed address that a buyer comes back to after an approval elsewhere. */
  readonly returnUrl: string;
}

/** A payment that a connector was told of before. */
export interface PaymentReference {
  readonly reconciliationId: string;
  /** The payment service's id. Absent while no answer ever named it. */
  readonly providerId: string | undefined;
  /** What was authorized, or asked for while that is not known. */
  readonly money: Money;
  readonly intent: Intent;
}

export interface CaptureRequest extends Keyed {
  readonly payment: PaymentReference & { readonly providerId: string };
  /** At most what was authorized; the rest is released. */
  readonly money: Money;
}

export interface VoidRequest extends Keyed {
  readonly payment: PaymentReference;
}

export interface RefundRequest extends Keyed {
  readonly payment: PaymentReference & { readonly providerId: string };
  /** Our reference of the refund: 22 letters and digits. */
  readonly reference: string;
  readonly money: Money;
  readonly reason: string | undefined;
}

/** What a buyer brought back in the query of our return address. Proves nothing. */
export interface ApprovalReturn {
  readonly payment: PaymentReference;
  readonly query: URLSearchParams;
}

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

export type LookUpOutcome =
  | {
      readonly kind: "found";
      readonly standing: PaymentStanding;
      /** Absent: the service does not list them. */
      readonly refunds?: readonly FoundRefund[];
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
    | { readonly kind: "capture"; readonly outcome: FollowUpOutcome }
    | { readonly kind: "void"; readonly outcome: FollowUpOutcome }
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

/**
 * A payment service. Methods never throw for what a service does or fails to do: every end is an outcome. They throw only
 * for defects of ours. One HTTP call each, or as few as the service's interface allows.
 *
 * Only `unknown` says that money may have moved without our knowing. A request that never left (see `never_sent` of
 * {@link ProviderHttp}) is `failed` with service_network_error, or `refused` as failed.
 */
export interface Connector {
  readonly formulaId: FormulaId;
  /** Refuses with invalid_amount, and without a call, what the service cannot express exactly. */
  authorize(context: ConnectorContext, request: AuthorizationRequest): Promise<AuthorizationOutcome>;
  capture(context: ConnectorContext, request: CaptureRequest): Promise<FollowUpOutcome>;
  /** Releases an authorization. Where `providerId` is absent, by our reference if the service can do that, else `unknown`. */
  void(context: ConnectorContext, request: VoidRequest): Promise<FollowUpOutcome>;
  refund(context: ConnectorContext, request: RefundRequest): Promise<FollowUpOutcome>;
  /** How a payment stands now. Changes nothing. */
  lookUp(context: ConnectorContext, payment: PaymentReference): Promise<LookUpOutcome>;
  /** After the buyer came back: finishes the approval where the service wants that, else the same as a look-up. */
  finishApproval(context: ConnectorContext, approval: ApprovalReturn): Promise<LookUpOutcome>;
  /** A harmless call that only tells whether the credentials work. */
  checkCredentials(context: ConnectorContext): Promise<CredentialsOutcome>;
  /** Verifies, then reads. Makes no call. */
  readWebhook(context: ConnectorContext, delivery: WebhookDelivery): WebhookReading;
}
