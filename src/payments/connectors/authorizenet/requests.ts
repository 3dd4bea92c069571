import type { JsonObject } from "../../../base/json.js";
import { monthText } from "../../contract/card.js";
import type { ConnectorContext } from "../../contract/connector.js";
import type { AuthorizationRequest } from "../../contract/payment-request.js";
import type { ProviderCall } from "../../contract/provider-http.js";
import { isLive, requiredField } from "../fields.js";
import type { ServiceCall } from "../service-connector.js";

/** Seconds in which a repeated payment is refused as a duplicate. This is the maximum. */
const DUPLICATE_WINDOW = "28800";
export const PAGE = 1000;

/**
 * Our reference as an invoice number, which is limited to 20 characters: the last 20. The cut-off start of a base62
 * UUID of version 7 changes only once in years.
 */
export function invoiceNumberFor(reference: string): string {
  return reference.slice(-20);
}

export function authorizenetAddress(context: Pick<ConnectorContext, "fields">, configured: string | undefined): string {
  return configured ?? (isLive(context) ? "https://api.authorize.net" : "https://apitest.authorize.net");
}

export type AuthorizenetCall = ServiceCall<AuthorizenetRequests>;

/** The order of properties is part of the format, because an XML schema validates the JSON. */
export class AuthorizenetRequests {
  readonly #url: string;
  readonly #context: ConnectorContext;

  constructor(address: string, context: ConnectorContext) {
    this.#url = `${address}/xml/v1/request.api`;
    this.#context = context;
  }

  /** `amount` is a decimal text. */
  pay(request: AuthorizationRequest, amount: string): ProviderCall {
    const { threeDS, isMerchantInitiated, isSubsequentPayment, paymentSource, previousSchemeTransactionId } = request;
    const isStored = paymentSource !== "ecommerce";
    return this.#transaction(request.reconciliationId, {
      transactionType: request.intent === "capture" ? "authCaptureTransaction" : "authOnlyTransaction",
      amount,
      currencyCode: request.money.currency,
      payment: { creditCard: cardOf(request) },
      order: { invoiceNumber: invoiceNumberFor(request.reconciliationId), description: request.reconciliationId },
      ...(threeDS && {
        cardholderAuthentication: {
          authenticationIndicator: threeDS.eci,
          cardholderAuthenticationValue: threeDS.authenticationValue,
        },
      }),
      transactionSettings: {
        setting: [
          { settingName: "duplicateWindow", settingValue: DUPLICATE_WINDOW },
          ...(paymentSource === "recurring" ? [{ settingName: "recurringBilling", settingValue: "true" }] : []),
        ],
      },
      ...(isStored && {
        processingOptions: { isSubsequentAuth: isMerchantInitiated || isSubsequentPayment, isStoredCredentials: true },
      }),
      ...(previousSchemeTransactionId !== undefined && {
        subsequentAuthInformation: { originalNetworkTransId: previousSchemeTransactionId },
      }),
    });
  }

  capture(providerId: string, reference: string, amount: string): ProviderCall {
    return this.#transaction(reference, {
      transactionType: "priorAuthCaptureTransaction",
      amount,
      refTransId: providerId,
    });
  }

  void(providerId: string, reference: string): ProviderCall {
    return this.#transaction(reference, { transactionType: "voidTransaction", refTransId: providerId });
  }

  /** A refund identifies the card by its last four digits. */
  refund(providerId: string, reference: string, amount: string, lastFour: string): ProviderCall {
    return this.#transaction(reference, {
      transactionType: "refundTransaction",
      amount,
      payment: { creditCard: { cardNumber: lastFour, expirationDate: "XXXX" } },
      refTransId: providerId,
      order: { invoiceNumber: invoiceNumberFor(reference), description: reference },
      transactionSettings: { setting: [{ settingName: "duplicateWindow", settingValue: DUPLICATE_WINDOW }] },
    });
  }

  details(providerId: string): ProviderCall {
    return this.#post("getTransactionDetailsRequest", { transId: providerId });
  }

  /** The payments since the last settlement, newest first. Pages count from 1. */
  unsettled(page: number): ProviderCall {
    return this.#post("getUnsettledTransactionListRequest", listing(page));
  }

  /** The daily settlements between two times, at most 31 days apart. */
  batches(since: Date, until: Date): ProviderCall {
    return this.#post("getSettledBatchListRequest", {
      firstSettlementDate: timeText(since),
      lastSettlementDate: timeText(until),
    });
  }

  /** What was settled in one batch, newest first. Pages count from 1. */
  settled(batchId: string, page: number): ProviderCall {
    return this.#post("getTransactionListRequest", { batchId, ...listing(page) });
  }

  authenticate(): ProviderCall {
    return this.#post("authenticateTestRequest", {});
  }

  #transaction(reference: string, transactionRequest: JsonObject): ProviderCall {
    return this.#post("createTransactionRequest", { refId: invoiceNumberFor(reference), transactionRequest });
  }

  #post(name: string, body: JsonObject): ProviderCall {
    const merchantAuthentication = {
      name: requiredField(this.#context, "merchant_account_id"),
      transactionKey: requiredField(this.#context, "transaction_key"),
    };
    return {
      method: "POST",
      url: this.#url,
      headers: [["Content-Type", "application/json"]],
      body: JSON.stringify({ [name]: { merchantAuthentication, ...body } }),
    };
  }
}

function listing(page: number): JsonObject {
  return {
    sorting: { orderBy: "submitTimeUTC", orderDescending: true },
    paging: { limit: PAGE, offset: page },
  };
}

/** To the second, as in the service's own examples. */
function timeText(time: Date): string {
  return time.toISOString().replace(/\.\d{3}Z$/, "Z");
}

function cardOf({ card, isMerchantInitiated }: AuthorizationRequest): JsonObject {
  const revealed = card.reveal();
  return {
    cardNumber: revealed.number,
    expirationDate: `${revealed.expirationYear}-${monthText(revealed)}`,
    ...(revealed.cvc === undefined || isMerchantInitiated ? {} : { cardCode: revealed.cvc }),
  };
}
