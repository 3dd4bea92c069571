import type { JsonObject } from "../../base/json.js";
import type { SensitiveCard } from "./card.js";

export type Intent = "authorize" | "capture";
export type PaymentSource = "ecommerce" | "card_on_file" | "recurring";

/** External 3DS data of a session authenticated here, with status Y or A, or with any status if the caller insists. */
export interface ThreeDSData {
  readonly version: string;
  /** CAVV, base64. */
  readonly authenticationValue: string;
  /** Two digits. */
  readonly eci: string;
  readonly dsTransactionId: string;
  /** The directory server's response (ARes transStatus). */
  readonly directoryStatus: string;
  /** The status after a challenge (RReq transStatus), or the directory's if there was no challenge. */
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

/** An operation with effects: the same key never executes it twice. */
interface Keyed {
  /** Derived from the transaction, different for each operation, at most 40 of [0-9A-Za-z-]. */
  readonly idempotencyKey: string;
}

/** A request to the payment service. Connectors must not log or store any of it. */
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
  /** The caller's metadata. Connectors pass on its string values if the service accepts them. */
  readonly metadata: JsonObject;
  /** Our signed address for the buyer's return from an approval. */
  readonly returnUrl: string;
}

export interface PaymentReference {
  readonly reconciliationId: string;
  /** The payment service's id. Absent if no response has given it yet. */
  readonly providerId: string | undefined;
  /** The authorized amount, or the requested amount while that is unknown. */
  readonly money: Money;
  readonly intent: Intent;
}

export interface CaptureRequest extends Keyed {
  readonly payment: PaymentReference & { readonly providerId: string };
  /** At most the authorized amount; the rest is released. */
  readonly money: Money;
}

export interface VoidRequest extends Keyed {
  readonly payment: PaymentReference;
}

export interface RefundRequest extends Keyed {
  readonly payment: PaymentReference & { readonly providerId: string };
  /** Our reference for the refund: 22 letters and digits. */
  readonly reference: string;
  readonly money: Money;
  readonly reason: string | undefined;
}

/** The query that a buyer brought to our return address. Proves nothing. */
export interface ApprovalReturn {
  readonly payment: PaymentReference;
  readonly query: URLSearchParams;
}
