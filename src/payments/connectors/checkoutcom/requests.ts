import type { JsonObject } from "../../../base/json.js";
import type { AuthorizationRequest, ThreeDSData } from "../../contract/payment-request.js";
import type { ProviderCall } from "../../contract/provider-http.js";
import { ConnectionRequests } from "../connection-requests.js";
import { connectionField } from "../fields.js";
import { acceptedMetadata, type MetadataLimits } from "../metadata.js";
import type { ServiceCall } from "../service-connector.js";
import { authorizationHeader } from "./address.js";

const METADATA: MetadataLimits = { pairs: 50, keyLength: 100, valueLength: 500, key: /./ };

export type CheckoutcomCall = ServiceCall<CheckoutcomRequests>;

export class CheckoutcomRequests extends ConnectionRequests {
  /** `amount` is in Checkout.com's units. */
  pay(request: AuthorizationRequest, amount: number): ProviderCall {
    const channel = connectionField(this.context, "processing_channel_id");
    return this.#post("/payments", request.idempotencyKey, {
      source: cardSource(request),
      amount,
      currency: request.money.currency,
      capture: request.intent === "capture",
      reference: request.reconciliationId,
      ...agreementOf(request),
      "3ds": authenticationOf(request),
      ...(channel === undefined ? {} : { processing_channel_id: channel }),
      success_url: request.returnUrl,
      failure_url: request.returnUrl,
      metadata: acceptedMetadata(METADATA, { external_identifier: request.externalIdentifier }, request.metadata),
    });
  }

  capture(providerId: string, reference: string, idempotencyKey: string, amount: number): ProviderCall {
    const body = { amount, reference, capture_type: "Final" };
    return this.#post(`${paymentPath(providerId)}/captures`, idempotencyKey, body);
  }

  void(providerId: string, reference: string, idempotencyKey: string): ProviderCall {
    return this.#post(`${paymentPath(providerId)}/voids`, idempotencyKey, { reference });
  }

  refund(providerId: string, reference: string, idempotencyKey: string, amount: number): ProviderCall {
    return this.#post(`${paymentPath(providerId)}/refunds`, idempotencyKey, { amount, reference });
  }

  read(providerId: string): ProviderCall {
    return this.#get(paymentPath(providerId));
  }

  actions(providerId: string): ProviderCall {
    return this.#get(`${paymentPath(providerId)}/actions`);
  }

  find(reference: string): ProviderCall {
    return this.#get(`/payments?limit=10&skip=0&reference=${encodeURIComponent(reference)}`);
  }

  #post(path: string, idempotencyKey: string, body: JsonObject): ProviderCall {
    return {
      method: "POST",
      url: this.address + path,
      headers: [
        ["Authorization", authorizationHeader(this.context)],
        ["Content-Type", "application/json"],
        ["Cko-Idempotency-Key", idempotencyKey],
      ],
      body: JSON.stringify(body),
    };
  }

  #get(path: string): ProviderCall {
    return {
      method: "GET",
      url: this.address + path,
      headers: [["Authorization", authorizationHeader(this.context)]],
    };
  }
}

function paymentPath(providerId: string): string {
  return `/payments/${encodeURIComponent(providerId)}`;
}

function cardSource({ card, isMerchantInitiated, paymentSource }: AuthorizationRequest): JsonObject {
  const { number, expirationMonth, expirationYear, cvc } = card.reveal();
  return {
    type: "card",
    number,
    expiry_month: expirationMonth,
    expiry_year: expirationYear,
    ...(cvc === undefined || isMerchantInitiated ? {} : { cvv: cvc }),
    ...(paymentSource === "ecommerce" ? {} : { stored: true }),
  };
}

/** The initiator of the payment and its agreement. */
function agreementOf(request: AuthorizationRequest): JsonObject {
  const { paymentSource, isMerchantInitiated, previousSchemeTransactionId } = request;
  const unscheduled = isMerchantInitiated ? "Unscheduled" : "Regular";
  return {
    payment_type: paymentSource === "recurring" ? "Recurring" : unscheduled,
    merchant_initiated: isMerchantInitiated,
    // For cards stored elsewhere, this field takes the scheme's transaction id.
    ...(previousSchemeTransactionId === undefined ? {} : { previous_payment_id: previousSchemeTransactionId }),
  };
}

/** The service's page asks buyers who are present, if their card takes part in 3DS. */
function authenticationOf({ threeDS, isMerchantInitiated }: AuthorizationRequest): JsonObject {
  if (threeDS) return { enabled: true, ...external(threeDS) };
  return isMerchantInitiated ? { enabled: false } : { enabled: true, attempt_n3d: true };
}

function external(data: ThreeDSData): JsonObject {
  return {
    eci: data.eci,
    cryptogram: data.authenticationValue,
    xid: data.dsTransactionId,
    version: data.version,
    status: data.authenticationStatus,
    ...(data.statusReason === undefined ? {} : { status_reason_code: data.statusReason }),
  };
}
