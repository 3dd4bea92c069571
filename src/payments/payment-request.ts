import type { JsonObject } from "../base/json.js";
import type { SensitiveCard } from "./card.js";

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
