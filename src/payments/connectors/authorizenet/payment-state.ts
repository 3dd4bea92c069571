import type { JsonObject } from "../../../base/json.js";
import { fromDecimalText } from "../../contract/amount.js";
import type { AuthorizationOutcome, AvsCode, CvvCode, PaymentState, ProviderCodes } from "../../contract/outcome.js";
import type { Money } from "../../contract/payment-request.js";
import { APPROVED } from "../approval-codes.js";
import { endedAuthorization } from "../ending.js";
import { parseProviderTime, textAt, valueAt } from "../read-json.js";
import { errorOfDecline } from "./decline-codes.js";

/** `responseCode` of a response. */
const APPROVED_CODE = "1";
const DECLINED_CODE = "2";
const HELD_CODE = "4";
/** The service detected a duplicate of an earlier request. */
export const DUPLICATE = "11";

export interface SentRequest {
  readonly money: Money;
  readonly isSale: boolean;
  readonly sentCvc: boolean;
}

export function readAuthorizationOutcome(
  response: JsonObject,
  { money, isSale, sentCvc }: SentRequest,
): AuthorizationOutcome {
  const responseCode = textAt(response, "responseCode");
  const transId = textAt(response, "transId");
  const providerId = transId === "0" ? undefined : transId;
  const codes = providerCodes(response, sentCvc);
  if (responseCode === APPROVED_CODE && providerId !== undefined) {
    const schemeTransactionId = textAt(response, "networkTransId");
    const known = { providerId, schemeTransactionId, codes: { ...codes, authResponseCode: APPROVED } };
    return { ...known, kind: isSale ? "captured" : "authorized", amount: money.amount };
  }
  // Held for the merchant's review, whose result decides.
  if (responseCode === HELD_CODE) return { kind: "processing", providerId, codes };
  // An earlier request of ours succeeded: a look-up finds it.
  if (codes.rawCode === DUPLICATE || responseCode === APPROVED_CODE) return { kind: "unknown", codes };
  return endedAuthorization(errorOfDecline(codes.rawCode, responseCode === DECLINED_CODE), { providerId, codes });
}

export function providerCodes(response: JsonObject, sentCvc: boolean): ProviderCodes {
  const error = valueAt(response, "errors", 0) ?? valueAt(response, "errors", "error", 0);
  const cvv = CVV[textAt(response, "cvvResultCode") ?? ""];
  return {
    cvv: sentCvc ? cvv : "not_provided",
    avs: AVS[textAt(response, "avsResultCode") ?? ""],
    rawCode: textAt(error, "errorCode") ?? textAt(response, "messages", 0, "code"),
    rawDescription: textAt(error, "errorText") ?? textAt(response, "messages", 0, "description"),
  };
}

const CVV: Readonly<Record<string, CvvCode>> = {
  M: "match",
  N: "no_match",
  P: "unavailable",
  S: "not_provided",
  U: "unavailable",
};

const AVS: Readonly<Record<string, AvsCode>> = {
  A: "partial_match_address",
  B: "unavailable",
  E: "unavailable",
  G: "unavailable",
  N: "no_match",
  P: "unavailable",
  R: "unavailable",
  S: "unavailable",
  U: "unavailable",
  W: "partial_match_postcode",
  X: "match",
  Y: "match",
  Z: "partial_match_postcode",
};

/** Maps `transactionStatus` of the details to the payment's state. Unknown values are `processing`. */
export function readPaymentState(transaction: JsonObject, providerId: string, currency: string): PaymentState {
  const status = textAt(transaction, "transactionStatus") ?? "";
  const schemeTransactionId = textAt(transaction, "networkTransId");
  const reason = String(valueAt(transaction, "responseReasonCode") ?? "");
  const rawDescription = textAt(transaction, "responseReasonDescription");
  const known = { providerId, schemeTransactionId, codes: { authResponseCode: APPROVED, rawCode: status } };
  const authorized = amountAt(transaction, "authAmount", currency);
  const at = parseProviderTime(textAt(transaction, "submitTimeUTC"));
  switch (status) {
    case "authorizedPendingCapture":
      if (authorized === undefined) return { kind: "processing", providerId, codes: { rawCode: status } };
      return { ...known, kind: "authorized", amount: authorized, ...(at && { at }) };
    case "capturedPendingSettlement":
    case "settledSuccessfully": {
      const amount = amountAt(transaction, "settleAmount", currency) ?? authorized;
      if (amount === undefined) return { kind: "processing", providerId, codes: { rawCode: status } };
      return {
        ...known,
        kind: "captured",
        amount,
        ...(authorized === undefined ? {} : { authorizedAmount: authorized }),
      };
    }
    case "voided":
    case "expired":
      return { kind: "voided", providerId, expired: status === "expired", codes: { rawCode: status } };
    case "declined":
      return endedAuthorization(errorOfDecline(reason, true), {
        providerId,
        codes: { rawCode: reason, rawDescription },
      });
    case "generalError":
    case "communicationError":
    case "failedReview":
      return endedAuthorization("service_error", { providerId, codes: { rawCode: status, rawDescription } });
    default:
      return { kind: "processing", providerId, codes: { rawCode: status } };
  }
}

/** Details have amounts as JSON numbers. */
function amountAt(transaction: JsonObject, key: string, currency: string): number | undefined {
  const value = valueAt(transaction, key);
  return typeof value === "number" || typeof value === "string" ? fromDecimalText(String(value), currency) : undefined;
}
