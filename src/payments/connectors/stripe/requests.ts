import type { AuthorizationRequest, RefundRequest, ThreeDSData } from "../../contract/payment-request.js";
import type { ProviderCall } from "../../contract/provider-http.js";
import { ConnectionRequests } from "../connection-requests.js";
import { connectionField, requiredField } from "../fields.js";
import { acceptedMetadata, type MetadataLimits } from "../metadata.js";
import type { ServiceCall } from "../service-connector.js";
import { encodeForm, type FormValue } from "./form.js";

/** The API version of this connector, independent of the account's version. */
export const API_VERSION = "2026-10-28.endive";

const METADATA: MetadataLimits = { pairs: 50, keyLength: 40, valueLength: 500, key: /^[^[\]]+$/ };
const WITH_CHARGE = { expand: ["latest_charge"] };

export type StripeCall = ServiceCall<StripeRequests>;

export class StripeRequests extends ConnectionRequests {
  /** `amount` is in Stripe's units. */
  create(request: AuthorizationRequest, amount: number): ProviderCall {
    const card = request.card.reveal();
    const isPresent = !request.isMerchantInitiated;
    return this.#post("/v1/payment_intents", request.idempotencyKey, {
      amount,
      currency: request.money.currency.toLowerCase(),
      confirm: true,
      capture_method: request.intent === "capture" ? "automatic" : "manual",
      allowed_payment_method_types: ["card"],
      payment_method_data: {
        type: "card",
        card: {
          number: card.number,
          exp_month: card.expirationMonth,
          exp_year: card.expirationYear,
          cvc: isPresent ? card.cvc : undefined,
        },
      },
      payment_method_options: { card: this.#cardOptions(request) },
      // Without a present buyer there is no return.
      ...(isPresent ? { return_url: request.returnUrl } : { off_session: true }),
      metadata: acceptedMetadata(
        METADATA,
        { reconciliation_id: request.reconciliationId, external_identifier: request.externalIdentifier },
        request.metadata,
      ),
      ...WITH_CHARGE,
    });
  }

  capture(providerId: string, idempotencyKey: string, amount: number): ProviderCall {
    return this.#post(`${intentPath(providerId)}/capture`, idempotencyKey, {
      amount_to_capture: amount,
      ...WITH_CHARGE,
    });
  }

  cancel(providerId: string, idempotencyKey: string): ProviderCall {
    const because = { cancellation_reason: "requested_by_customer" };
    return this.#post(`${intentPath(providerId)}/cancel`, idempotencyKey, { ...because, ...WITH_CHARGE });
  }

  refund({ payment, reference, reason, idempotencyKey }: RefundRequest, amount: number): ProviderCall {
    const isStripes = reason !== undefined && REFUND_REASONS.has(reason);
    return this.#post("/v1/refunds", idempotencyKey, {
      payment_intent: payment.providerId,
      amount,
      reason: isStripes ? reason : undefined,
      metadata: { reference, reason: isStripes ? undefined : reason },
    });
  }

  read(providerId: string): ProviderCall {
    return this.#get(intentPath(providerId), WITH_CHARGE);
  }

  search(reconciliationId: string): ProviderCall {
    return this.#get("/v1/payment_intents/search", { query: `metadata['reconciliation_id']:'${reconciliationId}'` });
  }

  list(fields: Readonly<Record<string, FormValue>>): ProviderCall {
    return this.#get("/v1/payment_intents", fields);
  }

  refunds(providerId: string): ProviderCall {
    return this.#get("/v1/refunds", { payment_intent: providerId, limit: 100 });
  }

  #cardOptions({ threeDS, isMerchantInitiated, previousSchemeTransactionId }: AuthorizationRequest): FormValue {
    // Stripe enables this parameter for selected accounts only, and refuses requests of others that use it.
    const mayName = connectionField(this.context, "network_transaction_id_enabled") === "true";
    const named = mayName && isMerchantInitiated ? previousSchemeTransactionId : undefined;
    const mit_exemption = named === undefined ? undefined : { network_transaction_id: named };
    if (threeDS) return { three_d_secure: external3DS(threeDS), mit_exemption };
    return { request_three_d_secure: isMerchantInitiated ? undefined : "automatic", mit_exemption };
  }

  #post(path: string, idempotencyKey: string, form: Readonly<Record<string, FormValue>>): ProviderCall {
    return {
      method: "POST",
      url: this.address + path,
      headers: [
        ...this.#headers(),
        ["Content-Type", "application/x-www-form-urlencoded"],
        ["Idempotency-Key", idempotencyKey],
      ],
      body: encodeForm(form),
    };
  }

  #get(path: string, query: Readonly<Record<string, FormValue>>): ProviderCall {
    return { method: "GET", url: `${this.address}${path}?${encodeForm(query)}`, headers: this.#headers() };
  }

  #headers(): [string, string][] {
    const account = connectionField(this.context, "stripe_account");
    return [
      ["Authorization", `Bearer ${requiredField(this.context, "secret_key")}`],
      ["Stripe-Version", API_VERSION],
      ...(account === undefined ? [] : [["Stripe-Account", account] satisfies [string, string]]),
    ];
  }
}

/** The reasons that Stripe accepts; others go into the refund's metadata. */
const REFUND_REASONS: ReadonlySet<string> = new Set(["duplicate", "fraudulent", "requested_by_customer"]);

function intentPath(providerId: string): string {
  return `/v1/payment_intents/${encodeURIComponent(providerId)}`;
}

/** A 3-D Secure authentication by another server, in Stripe's names. */
function external3DS(data: ThreeDSData): FormValue {
  return {
    version: data.version,
    cryptogram: data.authenticationValue,
    transaction_id: data.dsTransactionId,
    electronic_commerce_indicator: data.eci,
    ares_trans_status: data.directoryStatus,
  };
}
