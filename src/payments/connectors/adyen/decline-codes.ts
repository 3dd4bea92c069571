import type { ErrorCode } from "../../contract/error-code.js";

/** `refusalReasonCode`, its text in webhooks, and our error code (docs.adyen.com, "Refusal reasons"). */
const DECLINE_CODES: readonly (readonly [code: string, reason: string, error: ErrorCode])[] = [
  ["2", "Refused", "issuer_decline"],
  ["3", "Referral", "issuer_decline"],
  ["4", "Acquirer Error", "service_error"],
  ["5", "Blocked Card", "canceled_payment_method"],
  ["6", "Expired Card", "expired_payment_method"],
  ["7", "Invalid Amount", "invalid_amount"],
  ["8", "Invalid Card Number", "unknown_payment_method"],
  ["9", "Issuer Unavailable", "issuer_decline"],
  ["10", "Not supported", "unsupported_transaction"],
  ["11", "3D Not Authenticated", "failed_buyer_approval"],
  ["12", "Not enough balance", "insufficient_funds"],
  ["14", "Acquirer Fraud", "suspected_fraud"],
  ["15", "Cancelled", "service_decline"],
  ["16", "Shopper Cancelled", "cancelled_buyer_approval"],
  ["17", "Invalid Pin", "issuer_decline"],
  ["18", "Pin tries exceeded", "issuer_decline"],
  ["19", "Pin validation not possible", "issuer_decline"],
  ["20", "FRAUD", "suspected_fraud"],
  ["21", "Not Submitted", "service_error"],
  ["22", "FRAUD-CANCELLED", "suspected_fraud"],
  ["23", "Transaction Not Permitted", "unsupported_transaction"],
  ["24", "CVC Declined", "incorrect_cvv"],
  ["25", "Restricted Card", "unavailable_payment_method"],
  ["26", "Revocation Of Auth", "canceled_payment_method"],
  ["27", "Declined Non Generic", "issuer_decline"],
  ["28", "Withdrawal amount exceeded", "insufficient_funds"],
  ["29", "Withdrawal count exceeded", "insufficient_funds"],
  ["31", "Issuer Suspected Fraud", "suspected_fraud"],
  ["32", "AVS Declined", "incorrect_billing_address"],
  ["33", "Card requires online pin", "requires_buyer_authentication"],
  ["36", "Mobile PIN required", "requires_buyer_authentication"],
  ["38", "Authentication required", "requires_buyer_authentication"],
  ["39", "RReq not received from DS", "failed_buyer_approval"],
  ["41", "Online pin required", "requires_buyer_authentication"],
  ["42", "3DS Authentication Error", "failed_buyer_approval"],
  ["43", "Online pin required", "requires_buyer_authentication"],
  ["46", "Transaction blocked by Adyen to prevent excessive retry fees", "service_decline"],
];

const BY_CODE = new Map(DECLINE_CODES.map(([code, , error]) => [code, error]));
const BY_REASON = new Map(DECLINE_CODES.map(([, reason, error]) => [reason.toLowerCase(), error]));

export function errorOfDecline(code: string | undefined): ErrorCode {
  return BY_CODE.get(code ?? "") ?? "other_decline";
}

/** Webhooks carry only the text, and some accounts append the issuer's. */
export function errorOfDeclineText(reason: string | undefined): ErrorCode {
  const text = (reason ?? "").toLowerCase();
  return BY_REASON.get(text) ?? BY_REASON.get(text.split(/\s*[:;|]/)[0] ?? "") ?? "other_decline";
}

/** Maps the `reason` of a modification's webhook to why it did not happen. */
export function errorOfModification(reason: string | undefined): ErrorCode {
  const text = reason ?? "";
  if (/insufficient balance|amount.*(?:high|exceed)/i.test(text)) return "invalid_amount";
  if (/already|not found|status|cancelled|captured/i.test(text)) return "unexpected_state";
  if (/expired/i.test(text)) return "expired_authorization";
  return "service_error";
}
