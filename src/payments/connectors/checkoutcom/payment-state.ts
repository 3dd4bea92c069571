import type { JsonObject } from "../../../base/json.js";
import { fromProviderAmount } from "../../contract/amount.js";
import { isDecline } from "../../contract/error-code.js";
import type { AvsCode, CvvCode, PaymentState, ProviderCodes, ThreeDSOutcome } from "../../contract/outcome.js";
import type { Intent } from "../../contract/payment-request.js";
import { APPROVED } from "../approval-codes.js";
import { endedAuthorization } from "../ending.js";
import { objectAt, parseProviderTime, textAt, valueAt, wholeAt } from "../read-json.js";
import { CHECKOUTCOM_AMOUNTS } from "./amounts.js";
import { errorOfDecline } from "./decline-codes.js";

/** Maps `status` to the payment's state. Unknown values are `processing`. */
export function readPaymentState(body: JsonObject, intent: Intent, sentCvc?: boolean): PaymentState {
  const providerId = textAt(body, "id");
  const status = textAt(body, "status") ?? "";
  const codes = providerCodes(body, sentCvc);
  const threeDS = threeDSOf(body);
  // Some responses to a refused card have no status and no `approved`.
  if (status === "Declined" || (status === "" && /^[2-4]/.test(codes.rawCode ?? ""))) {
    const error = errorOfDecline(codes.rawCode);
    const failed = error === "failed_buyer_approval" && threeDS === undefined;
    return endedAuthorization(error, { providerId, codes, threeDS: failed ? { status: "declined" } : threeDS });
  }
  if (status === "Canceled") return endedAuthorization("canceled", { providerId, codes });
  if (providerId === undefined) return { kind: "processing", codes };
  const known = { providerId, schemeTransactionId: textAt(body, "scheme_id"), codes, threeDS };
  const authorized = moneyAt(body, "balances", "total_authorized") ?? moneyAt(body, "amount");
  const at = parseProviderTime(textAt(body, "processed_on"));
  switch (status) {
    case "Authorized":
    case "Card Verified":
      if (authorized === undefined) return { kind: "processing", providerId, codes };
      return intent === "capture" && status === "Authorized"
        ? { ...known, kind: "capturing", authorizedAmount: authorized }
        : { ...known, kind: "authorized", amount: authorized, ...(at && { at }) };
    case "Captured":
    case "Partially Captured":
    case "Refunded":
    case "Partially Refunded": {
      const whole = status === "Captured" ? authorized : undefined;
      const amount = moneyAt(body, "balances", "total_captured") ?? whole;
      if (amount === undefined || authorized === undefined) return { kind: "processing", providerId, codes };
      const refundedAmount = moneyAt(body, "balances", "total_refunded");
      return {
        ...known,
        kind: "captured",
        authorizedAmount: authorized,
        amount,
        ...(refundedAmount === undefined ? {} : { refundedAmount }),
      };
    }
    case "Pending": {
      const approvalUrl = textAt(body, "_links", "redirect", "href");
      return approvalUrl === undefined
        ? { kind: "processing", providerId, codes: { rawCode: status } }
        : { kind: "redirect", providerId, approvalUrl, codes: {} };
    }
    case "Voided":
      return { kind: "voided", providerId, expired: false, codes };
    case "Expired":
      return (wholeAt(body, "balances", "total_authorized") ?? 0) > 0
        ? { kind: "voided", providerId, expired: true, codes }
        : endedAuthorization("incomplete_buyer_approval", { providerId, codes });
    default:
      return { kind: "processing", providerId, codes: { rawCode: status } };
  }
}

/** An amount in ISO 4217 minor units. */
function moneyAt(body: JsonObject, ...steps: readonly string[]): number | undefined {
  const amount = wholeAt(body, ...steps);
  const currency = textAt(body, "currency");
  if (amount === undefined || currency === undefined) return undefined;
  return fromProviderAmount(CHECKOUTCOM_AMOUNTS, { amount, currency });
}

function providerCodes(body: JsonObject, sentCvc: boolean | undefined): ProviderCodes {
  const rawCode = textAt(body, "response_code") ?? textAt(body, "actions", 0, "response_code");
  const rawDescription = textAt(body, "response_summary") ?? textAt(body, "actions", 0, "response_summary");
  const ofIssuer = rawCode?.startsWith("10") ? APPROVED : /^[23]00(\w\w)$/.exec(rawCode ?? "")?.[1];
  return {
    authResponseCode: textAt(body, "processing", "partner_response_code") ?? ofIssuer,
    cvv: cvvOf(textAt(body, "source", "cvv_check"), sentCvc),
    avs: AVS[textAt(body, "source", "avs_check") ?? ""],
    rawCode,
    rawDescription,
  };
}

/** N means that the merchant sent no code, not that the code did not match. */
function cvvOf(check: string | undefined, sentCvc: boolean | undefined): CvvCode | undefined {
  if (check === "N") return sentCvc ? "unavailable" : "not_provided";
  if (check === undefined) return sentCvc === false ? "not_provided" : undefined;
  return CVV[check];
}

const CVV: Readonly<Record<string, CvvCode>> = {
  Y: "match",
  D: "no_match",
  P: "unavailable",
  U: "unavailable",
  X: "unavailable",
};

/** The networks' letters. */
const AVS: Readonly<Record<string, AvsCode>> = {
  ...Object.fromEntries([..."DFMXY"].map((letter) => [letter, "match"] as const)),
  ...Object.fromEntries([..."AB"].map((letter) => [letter, "partial_match_address"] as const)),
  ...Object.fromEntries([..."PWZ"].map((letter) => [letter, "partial_match_postcode"] as const)),
  ...Object.fromEntries([..."CN"].map((letter) => [letter, "no_match"] as const)),
  ...Object.fromEntries([..."EGIRSU"].map((letter) => [letter, "unavailable"] as const)),
};

const THREE_DS: Readonly<Record<string, ThreeDSOutcome["status"]>> = {
  Y: "complete",
  A: "complete",
  N: "declined",
  R: "declined",
  U: "error",
};

function threeDSOf(body: JsonObject): ThreeDSOutcome | undefined {
  const found = objectAt(body, "3ds");
  const status = THREE_DS[textAt(found, "authentication_response") ?? ""];
  if (status === undefined) return undefined;
  const method = valueAt(found, "challenged") === true ? "challenge" : "frictionless";
  return { status, method, version: textAt(found, "version") };
}

/** Whether the code of a capture, void or refund means a decline. */
export function codeRefusal(code: string | undefined): {
  readonly as: "declined" | "failed";
  readonly errorCode: ReturnType<typeof errorOfDecline>;
} {
  const errorCode = errorOfDecline(code);
  return { as: isDecline(errorCode) ? "declined" : "failed", errorCode };
}
