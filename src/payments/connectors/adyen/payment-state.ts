import type { JsonObject } from "../../../base/json.js";
import { fromProviderAmount } from "../../contract/amount.js";
import type { AvsCode, CvvCode, PaymentState, ProviderCodes, ThreeDSOutcome } from "../../contract/outcome.js";
import type { Intent, Money } from "../../contract/payment-request.js";
import { APPROVED } from "../approval-codes.js";
import { endedAuthorization } from "../ending.js";
import { objectAt, textAt, wholeAt } from "../read-json.js";
import { ADYEN_AMOUNTS } from "./amounts.js";
import { errorOfDecline } from "./decline-codes.js";

/** The request's intent, and whether the buyer was present. */
export interface SentRequest {
  readonly intent: Intent;
  readonly money: Money;
  readonly isAfterApproval: boolean;
}

/** Maps `resultCode` to the payment's state. Unknown codes are `processing`. */
export function readPaymentState(body: JsonObject, asked: SentRequest): PaymentState {
  const providerId = textAt(body, "pspReference");
  const resultCode = textAt(body, "resultCode") ?? "";
  const codes = providerCodes(body);
  const threeDS = threeDSOf(body, asked);
  switch (resultCode) {
    case "Authorised":
    case "PartiallyAuthorised": {
      if (providerId === undefined) return { kind: "processing", codes };
      const whole = resultCode === "Authorised" ? asked.money.amount : undefined;
      const amount = amountOf(body) ?? whole;
      if (amount === undefined) return { kind: "processing", providerId, codes: { rawCode: resultCode } };
      const schemeTransactionId = textAt(body, "additionalData", "networkTxReference");
      const approved = { ...codes, authResponseCode: codes.authResponseCode ?? APPROVED };
      const known = { providerId, schemeTransactionId, codes: approved, threeDS, amount };
      return asked.intent === "capture" ? { kind: "captured", ...known } : { kind: "authorized", ...known };
    }
    case "Refused":
      return endedAuthorization(errorOfDecline(textAt(body, "refusalReasonCode")), { providerId, codes, threeDS });
    case "Error": {
      const error = errorOfDecline(textAt(body, "refusalReasonCode"));
      return {
        kind: "failed",
        providerId,
        codes,
        threeDS,
        errorCode: error === "other_decline" ? "service_error" : error,
      };
    }
    case "Cancelled":
      return endedAuthorization(asked.isAfterApproval ? "cancelled_buyer_approval" : "service_decline", {
        providerId,
        codes,
        threeDS,
      });
    case "RedirectShopper":
    case "ChallengeShopper":
    case "IdentifyShopper":
      return approvalOf(body, providerId);
    default:
      return { kind: "processing", providerId, codes: { rawCode: resultCode } };
  }
}

function approvalOf(body: JsonObject, providerId: string | undefined): PaymentState {
  const approvalUrl = textAt(body, "action", "url");
  const isPage = textAt(body, "action", "type") === "redirect" && textAt(body, "action", "method") !== "POST";
  if (isPage && approvalUrl !== undefined && providerId !== undefined) {
    return { kind: "redirect", providerId, approvalUrl, codes: {} };
  }
  const rawCode = textAt(body, "action", "type") ?? textAt(body, "resultCode");
  return endedAuthorization("invalid_operation", { providerId, codes: { rawCode } });
}

function amountOf(body: JsonObject): number | undefined {
  const amount = wholeAt(body, "amount", "value");
  const currency = textAt(body, "amount", "currency");
  if (amount === undefined || currency === undefined) return undefined;
  return fromProviderAmount(ADYEN_AMOUNTS, { amount, currency });
}

function providerCodes(body: JsonObject): ProviderCodes {
  const data = objectAt(body, "additionalData");
  const raw = textAt(data, "refusalReasonRaw");
  return {
    authResponseCode: /^\s*(\w{2})\s*:/.exec(raw ?? "")?.[1],
    cvv: CVV[textAt(data, "cvcResult")?.[0] ?? ""],
    avs: AVS[/^\d+/.exec(textAt(data, "avsResult") ?? "")?.[0] ?? ""],
    rawCode: textAt(body, "refusalReasonCode") ?? textAt(body, "resultCode"),
    rawDescription: [textAt(body, "refusalReason"), raw].filter((text) => text !== undefined).join("; ") || undefined,
  };
}

/** By the first digit of `cvcResult`. */
const CVV: Readonly<Record<string, CvvCode>> = {
  0: "unavailable",
  1: "match",
  2: "no_match",
  3: "unavailable",
  4: "not_provided",
  5: "unavailable",
  6: "not_provided",
};

/** `avsResult`, as Adyen numbers the combinations of address, postal code and name. */
const AVS: Readonly<Record<string, AvsCode>> = {
  ...Object.fromEntries([0, 3, 4, 5, 8, 11, 18].map((code) => [code, "unavailable"] as const)),
  ...Object.fromEntries([1, 9, 12, 21, 25].map((code) => [code, "partial_match_address"] as const)),
  ...Object.fromEntries([6, 14, 15, 19, 23].map((code) => [code, "partial_match_postcode"] as const)),
  ...Object.fromEntries([2, 10, 13, 16, 17, 26].map((code) => [code, "no_match"] as const)),
  ...Object.fromEntries([7, 20, 24].map((code) => [code, "match"] as const)),
  22: "partial_match_name",
};

/** By `refusalReasonCode`: the buyer failed authentication, or authentication broke. */
const THREE_DS_REFUSALS: Readonly<Record<string, ThreeDSOutcome["status"]>> = {
  11: "declined",
  39: "error",
  42: "error",
};

function threeDSOf(body: JsonObject, { isAfterApproval }: SentRequest): ThreeDSOutcome | undefined {
  const data = objectAt(body, "additionalData");
  const version = textAt(data, "threeds2.threeDS2ResponseData.messageVersion") ?? textAt(data, "threeDSVersion");
  const method = isAfterApproval ? ("challenge" as const) : undefined;
  const refusal = THREE_DS_REFUSALS[textAt(body, "refusalReasonCode") ?? ""];
  if (refusal !== undefined) return { status: refusal, method, version };
  if (isAfterApproval && textAt(body, "resultCode") === "Cancelled") return { status: "cancelled", method, version };
  const transStatus =
    textAt(body, "threeDS2Result", "transStatus") ?? textAt(data, "threeds2.threeDS2Result.transStatus");
  const isAuthenticated = textAt(data, "threeDAuthenticated") === "true" || transStatus === "Y" || transStatus === "A";
  return isAuthenticated ? { status: "complete", method: method ?? "frictionless", version } : undefined;
}
