import type { ErrorCode } from "../../contract/error-code.js";

/** Our error codes, each with the `response_code` values that map to it. */
const DECLINE_CODES: readonly (readonly [error: ErrorCode, codes: string])[] = [
  ["issuer_decline", "20001 20002 20005 20046 20060 20066"],
  ["canceled_payment_method", "20004 20067 20078 30004 30007 30041 30043 200R1 200R3"],
  ["unknown_payment_method", "20014 20039 20052 20053 20056 20083 30015 30046"],
  ["unavailable_payment_method", "20016 20062 20072 30036"],
  ["insufficient_funds", "20051 20061 20065 30021"],
  ["expired_payment_method", "20054 30033"],
  ["incorrect_expiry_date", "20100"],
  ["incorrect_cvv", "20082 20087 200N7"],
  ["missing_cvv", "20124"],
  ["suspected_fraud", "20059 20063 30034 40101"],
  ["unsupported_transaction", "20057 20058 20093 20031 20040 20103 30016 30017 30018 30019 30020 30044"],
  ["invalid_amount", "20013 20042"],
  ["unsupported_currency", "20106"],
  ["requires_buyer_authentication", "20150 20152 20154"],
  ["failed_buyer_approval", "20151 20153"],
  ["invalid_service_configuration", "20003 20102 20112 20117"],
  ["service_error", "20022 20068 20090 20091 20092 20096"],
  ["duplicate_transaction", "20094"],
  ["refused_transaction", "20064"],
];

const BY_CODE: ReadonlyMap<string, ErrorCode> = new Map(
  DECLINE_CODES.flatMap(([error, codes]) => codes.split(" ").map((code): [string, ErrorCode] => [code, error])),
);

export function errorOfDecline(code: string | undefined): ErrorCode {
  if (code?.startsWith("402")) return "suspected_fraud";
  return BY_CODE.get(code ?? "") ?? "other_decline";
}

/** `error_codes` of a request that was refused with 422. */
const BY_NAME: Readonly<Record<string, ErrorCode>> = {
  "3ds_not_configured": "invalid_service_configuration",
  amount_invalid: "invalid_amount",
  api_calls_quota_exceeded: "service_rate_limit",
  capture_value_greater_than_authorized: "invalid_amount",
  capture_value_greater_than_remaining_authorized: "invalid_amount",
  card_disabled: "canceled_payment_method",
  card_expired: "expired_payment_method",
  card_number_invalid: "unrecognised_payment_method",
  currency_invalid: "unrecognised_currency",
  cvv_invalid: "incorrect_cvv",
  payment_method_not_supported: "unsupported_payment_method",
  processing_channel_id_required: "invalid_service_configuration",
  refund_amount_exceeds_balance: "invalid_amount",
};

export function errorOfName(name: string | undefined): ErrorCode {
  const known = name !== undefined && Object.hasOwn(BY_NAME, name) ? BY_NAME[name] : undefined;
  return known ?? "invalid_service_request";
}
