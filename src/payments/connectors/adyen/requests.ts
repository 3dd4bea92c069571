import type { JsonObject } from "../../../base/json.js";
import { monthText } from "../../contract/card.js";
import type { AuthorizationRequest, ThreeDSData } from "../../contract/payment-request.js";
import type { ProviderCall } from "../../contract/provider-http.js";
import { ConnectionRequests } from "../connection-requests.js";
import { requiredField } from "../fields.js";
import { acceptedMetadata, type MetadataLimits } from "../metadata.js";

const METADATA: MetadataLimits = { pairs: 20, keyLength: 20, valueLength: 80, key: /^[\w.-]+$/ };

/**
 * 3DS requires a browser description. This one describes a server; the page that the buyer opens reads the real one.
 */
const BROWSER: JsonObject = {
  userAgent: "Mozilla/5.0 (compatible; Cloakroom)",
  acceptHeader: "*/*",
  language: "en",
  colorDepth: 24,
  screenHeight: 1080,
  screenWidth: 1920,
  timeZoneOffset: 0,
  javaEnabled: false,
};

export interface AdyenAmount {
  readonly value: number;
  readonly currency: string;
}

export class AdyenRequests extends ConnectionRequests {
  pay(request: AuthorizationRequest, amount: AdyenAmount): ProviderCall {
    return this.#post("/payments", request.idempotencyKey, {
      amount: { ...amount },
      reference: request.reconciliationId,
      // Required even without a redirect.
      returnUrl: request.returnUrl,
      paymentMethod: cardOf(request),
      storePaymentMethod: false,
      ...interactionOf(request),
      ...(request.intent === "capture" ? { captureDelayHours: 0 } : { additionalData: { manualCapture: "true" } }),
      ...authenticationOf(request),
      ...(request.country === undefined ? {} : { countryCode: request.country }),
      // Webhooks return this metadata. If the response was lost, only they report the payment, and they omit the
      // request's details.
      metadata: acceptedMetadata(
        METADATA,
        { intent: request.intent, external_identifier: request.externalIdentifier },
        request.metadata,
      ),
    });
  }

  details(redirectResult: string, idempotencyKey: string): ProviderCall {
    return this.#send("/payments/details", idempotencyKey, { details: { redirectResult } });
  }

  capture(providerId: string, reference: string, idempotencyKey: string, amount: AdyenAmount): ProviderCall {
    return this.#post(`${paymentPath(providerId)}/captures`, idempotencyKey, { amount: { ...amount }, reference });
  }

  cancel(providerId: string, reference: string, idempotencyKey: string): ProviderCall {
    return this.#post(`${paymentPath(providerId)}/cancels`, idempotencyKey, { reference });
  }

  /** Cancels any payment with our reference, even one whose id we do not know. */
  cancelByReference(reference: string, idempotencyKey: string): ProviderCall {
    return this.#post("/cancels", idempotencyKey, { paymentReference: reference, reference });
  }

  refund(providerId: string, reference: string, idempotencyKey: string, amount: AdyenAmount): ProviderCall {
    return this.#post(`${paymentPath(providerId)}/refunds`, idempotencyKey, { amount: { ...amount }, reference });
  }

  paymentMethods(): ProviderCall {
    return this.#post("/paymentMethods", undefined, {});
  }

  #post(path: string, idempotencyKey: string | undefined, body: JsonObject): ProviderCall {
    return this.#send(path, idempotencyKey, {
      merchantAccount: requiredField(this.context, "merchant_account"),
      ...body,
    });
  }

  #send(path: string, idempotencyKey: string | undefined, body: JsonObject): ProviderCall {
    return {
      method: "POST",
      url: this.address + path,
      headers: [
        ["X-API-Key", requiredField(this.context, "api_key")],
        ["Content-Type", "application/json"],
        ...(idempotencyKey === undefined ? [] : [["Idempotency-Key", idempotencyKey] satisfies [string, string]]),
      ],
      body: JSON.stringify(body),
    };
  }
}

function paymentPath(providerId: string): string {
  return `/payments/${encodeURIComponent(providerId)}`;
}

function cardOf(request: AuthorizationRequest): JsonObject {
  const card = request.card.reveal();
  const { isMerchantInitiated, previousSchemeTransactionId } = request;
  return {
    type: "scheme",
    number: card.number,
    expiryMonth: monthText(card),
    expiryYear: String(card.expirationYear),
    ...(card.cvc === undefined || isMerchantInitiated ? {} : { cvc: card.cvc }),
    ...(previousSchemeTransactionId === undefined ? {} : { networkPaymentReference: previousSchemeTransactionId }),
  };
}

/** The initiator of the payment and its agreement. */
function interactionOf({
  paymentSource,
  isMerchantInitiated,
  card,
  reconciliationId,
}: AuthorizationRequest): JsonObject {
  if (paymentSource === "ecommerce") return { shopperInteraction: "Ecommerce" };
  const isPresent = !isMerchantInitiated && (paymentSource === "recurring" || card.reveal().cvc !== undefined);
  const unscheduled = isMerchantInitiated ? "UnscheduledCardOnFile" : "CardOnFile";
  return {
    shopperInteraction: isPresent ? "Ecommerce" : "ContAuth",
    recurringProcessingModel: paymentSource === "recurring" ? "Subscription" : unscheduled,
    // Required with a processing model. We know no shoppers, and Adyen does not store the card.
    shopperReference: reconciliationId,
  };
}

function authenticationOf({ threeDS, isMerchantInitiated }: AuthorizationRequest): JsonObject {
  if (threeDS) return { mpiData: mpiData(threeDS) };
  if (isMerchantInitiated) return {};
  return {
    channel: "Web",
    browserInfo: BROWSER,
    authenticationData: { threeDSRequestData: { nativeThreeDS: "disabled" } },
    // Buyers are redirected by address only: we have no page that could submit a form.
    redirectToIssuerMethod: "GET",
    redirectFromIssuerMethod: "GET",
  };
}

/** A 3-D Secure authentication by another server, in Adyen's names. */
function mpiData(data: ThreeDSData): JsonObject {
  return {
    threeDSVersion: data.version,
    cavv: data.authenticationValue,
    eci: data.eci,
    dsTransID: data.dsTransactionId,
    directoryResponse: data.directoryStatus,
    authenticationResponse: data.authenticationStatus,
    ...(data.statusReason === undefined ? {} : { transStatusReason: data.statusReason }),
  };
}
