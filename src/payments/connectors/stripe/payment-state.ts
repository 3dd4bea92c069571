import type { JsonObject } from "../../../base/json.js";
import type { AvsCode, CvvCode, PaymentState, ProviderCodes, ThreeDSOutcome } from "../../contract/outcome.js";
import type { Intent } from "../../contract/payment-request.js";
import { APPROVED } from "../approval-codes.js";
import { endedAuthorization } from "../ending.js";
import { objectAt, textAt, wholeAt } from "../read-json.js";
import { moneyAt } from "./amounts.js";
import { providerCodes, refusalError } from "./error.js";

/** Maps a payment intent to the payment's state. Statuses unknown to the table are `processing`. */
export function readPaymentState(body: JsonObject, intent: Intent): PaymentState {
  const providerId = textAt(body, "id");
  if (providerId === undefined) return { kind: "processing", codes: { rawCode: "no_id" } };
  const charge = objectAt(body, "latest_charge");
  const schemeTransactionId = textAt(charge, "payment_method_details", "card", "network_transaction_id");
  const known = { providerId, schemeTransactionId, threeDS: threeDSOf(charge), codes: approvalCodes(charge) };
  const amount = moneyAt(body, "amount");
  const status = textAt(body, "status") ?? "";
  switch (status) {
    case "requires_capture": {
      const capturable = moneyAt(body, "amount_capturable") ?? amount;
      return capturable === undefined
        ? unreadable(known)
        : { ...known, ...at(charge), kind: "authorized", amount: capturable };
    }
    case "succeeded": {
      const received = moneyAt(body, "amount_received");
      if (received === undefined || amount === undefined) return unreadable(known);
      const refundedAmount = refundedOf(charge, body);
      const automatic = textAt(body, "capture_method") !== "manual";
      return {
        ...known,
        ...(automatic ? at(charge) : {}),
        kind: "captured",
        authorizedAmount: amount,
        amount: received,
        ...(refundedAmount === undefined ? {} : { refundedAmount }),
      };
    }
    case "processing":
      return intent === "capture" && amount !== undefined
        ? { ...known, kind: "capturing", authorizedAmount: amount }
        : { kind: "processing", providerId, codes: { rawCode: status } };
    case "requires_action":
      return approvalOf(body, providerId);
    case "canceled":
      return canceled(body, providerId);
    case "requires_payment_method":
      return refusedIntent(body, providerId, known.threeDS);
    case "requires_confirmation":
      // Only we could confirm it, and we never do: no money can move.
      return endedAuthorization("unexpected_state", { providerId, codes: { rawCode: status } });
    default:
      return { kind: "processing", providerId, codes: { rawCode: status } };
  }
}

/**
 * The refunded amount, as far as the charge alone shows it. For a partial capture, `amount_refunded` includes the
 * unused rest, which was never taken (woocommerce-gateway-stripe 1073, solidus_stripe 268). A value below the rest does
 * not include it.
 */
function refundedOf(charge: JsonObject | undefined, body: JsonObject): number | undefined {
  const refunded = moneyAt(charge, "amount_refunded", body);
  const rest = untakenRest(body);
  return refunded === undefined || refunded < rest ? refunded : refunded - rest;
}

/** The part of a captured payment's authorization that was never taken. */
export function untakenRest(body: JsonObject): number {
  return (moneyAt(body, "amount") ?? 0) - (moneyAt(body, "amount_received") ?? 0);
}

function approvalOf(body: JsonObject, providerId: string): PaymentState {
  const approvalUrl = textAt(body, "next_action", "redirect_to_url", "url");
  if (approvalUrl !== undefined) return { kind: "redirect", providerId, approvalUrl, codes: {} };
  const rawCode = textAt(body, "next_action", "type") ?? "requires_action";
  return endedAuthorization("invalid_operation", { providerId, codes: { rawCode } });
}

function canceled(body: JsonObject, providerId: string): PaymentState {
  const reason = textAt(body, "cancellation_reason");
  const codes = { rawCode: reason ?? "canceled" };
  // Without a charge there was nothing to release: the buyer never approved.
  if (body.latest_charge === null) return endedAuthorization("canceled", { providerId, codes });
  const at = wholeAt(body, "canceled_at");
  const expired = reason === "automatic" || reason === "expired";
  return { kind: "voided", providerId, expired, codes, ...(at === undefined ? {} : { at: new Date(at * 1000) }) };
}

function refusedIntent(body: JsonObject, providerId: string, seen: ThreeDSOutcome | undefined): PaymentState {
  const error = objectAt(body, "last_payment_error");
  if (error === undefined)
    return endedAuthorization("unexpected_state", { providerId, codes: { rawCode: "requires_payment_method" } });
  const failedApproval = textAt(error, "code") === "payment_intent_authentication_failure";
  const threeDS = failedApproval ? ({ status: "declined", method: "challenge" } as const) : seen;
  return endedAuthorization(refusalError(error, 402), { providerId, codes: providerCodes(error), threeDS });
}

function unreadable(known: { readonly providerId: string }): PaymentState {
  return { kind: "processing", providerId: known.providerId, codes: { rawCode: "unreadable_amount" } };
}

function at(charge: JsonObject | undefined): { readonly at?: Date } {
  const created = wholeAt(charge, "created");
  return created === undefined ? {} : { at: new Date(created * 1000) };
}

function approvalCodes(charge: JsonObject | undefined): ProviderCodes {
  if (charge === undefined) return {};
  const checks = objectAt(charge, "payment_method_details", "card", "checks");
  return {
    authResponseCode: textAt(charge, "outcome", "network_decline_code") ?? APPROVED,
    cvv: CVV[textAt(checks, "cvc_check") ?? ""],
    avs: avsOf(textAt(checks, "address_line1_check"), textAt(checks, "address_postal_code_check")),
    rawCode: textAt(charge, "outcome", "network_status"),
    rawDescription: textAt(charge, "outcome", "seller_message"),
  };
}

/** By `cvc_check` of the charge. */
const CVV: Readonly<Record<string, CvvCode>> = {
  pass: "match",
  fail: "no_match",
  unavailable: "unavailable",
  unchecked: "unavailable",
};

function avsOf(line: string | undefined, postcode: string | undefined): AvsCode | undefined {
  if (line === undefined && postcode === undefined) return undefined;
  if (line === "pass") return postcode === "pass" || postcode === undefined ? "match" : "partial_match_address";
  if (postcode === "pass") return line === undefined ? "match" : "partial_match_postcode";
  return line === "fail" || postcode === "fail" ? "no_match" : "unavailable";
}

const THREE_DS: Readonly<Record<string, ThreeDSOutcome["status"]>> = {
  authenticated: "complete",
  attempt_acknowledged: "complete",
  failed: "declined",
  processing_error: "error",
};

function threeDSOf(charge: JsonObject | undefined): ThreeDSOutcome | undefined {
  const found = objectAt(charge, "payment_method_details", "card", "three_d_secure");
  const status = THREE_DS[textAt(found, "result") ?? ""];
  if (status === undefined) return undefined;
  const flow = textAt(found, "authentication_flow");
  const method = flow === "challenge" || flow === "frictionless" ? flow : undefined;
  return { status, method, version: textAt(found, "version") };
}
