import type { JsonObject } from "../../../base/json.js";
import type { FollowUpOutcome } from "../../contract/outcome.js";
import { refusedOperation } from "../ending.js";
import { textAt } from "../read-json.js";
import { moneyAt } from "./amounts.js";

export function refundOutcome(refund: JsonObject): FollowUpOutcome {
  const providerId = textAt(refund, "id");
  const amount = moneyAt(refund, "amount");
  const status = textAt(refund, "status");
  const codes = { rawCode: textAt(refund, "failure_reason") ?? status };
  switch (status) {
    case "succeeded":
      return { kind: "done", providerId, codes, ...(amount === undefined ? {} : { amount }) };
    case "failed":
      return refusedOperation(FAILURES[codes.rawCode ?? ""] ?? "service_error", codes);
    case "canceled":
      return refusedOperation("canceled", codes);
    default:
      return { kind: "accepted", providerId, codes };
  }
}

/** Whether the money went back or is on its way. */
export function isReturned(refund: JsonObject): boolean {
  const { kind } = refundOutcome(refund);
  return kind === "done" || kind === "accepted";
}

/** `failure_reason` of a refund. */
const FAILURES: Readonly<Record<string, "canceled_payment_method" | "disputed_transaction" | "unexpected_state">> = {
  charge_for_pending_refund_disputed: "disputed_transaction",
  expired_or_canceled_card: "canceled_payment_method",
  lost_or_stolen_card: "canceled_payment_method",
  merchant_request: "unexpected_state",
};
