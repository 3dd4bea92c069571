/**
 * Why a payment did not succeed, whatever the payment service. {@link import("./connector.js").ProviderCodes}
 * keeps the payment service's own codes.
 */
const DECLINES = [
  "canceled_payment_method",
  "cancelled_buyer_approval",
  "disputed_transaction",
  "duplicate_transaction",
  "expired_authorization",
  "expired_payment_method",
  "failed_buyer_approval",
  "incorrect_billing_address",
  "incorrect_country",
  "incorrect_currency",
  "incorrect_cvv",
  "incorrect_expiry_date",
  "insufficient_funds",
  "issuer_decline",
  "other_decline",
  "refused_transaction",
  "requires_buyer_authentication",
  "service_decline",
  "suspected_fraud",
  "unavailable_payment_method",
  "unknown_payment_method",
  "unsupported_payment_method",
  "unsupported_transaction",
] as const;

const FAILURES = [
  "amount_too_small",
  "canceled",
  "incomplete_buyer_approval",
  "insufficient_service_permissions",
  "internal_error",
  "invalid_amount",
  "invalid_billing_address",
  "invalid_operation",
  "invalid_payment_method",
  "invalid_request_parameters",
  "invalid_service_configuration",
  "invalid_service_credentials",
  "invalid_service_request",
  "invalid_service_response",
  "invalid_shipping_address",
  "invalid_tax_identifier",
  "missing_billing_address",
  "missing_cvv",
  "missing_redirect_url",
  "missing_shipping_address",
  "missing_tax_identifier",
  "refund_already_satisfied",
  "refund_period_expired",
  "service_error",
  "service_network_error",
  "service_rate_limit",
  "service_resource_conflict",
  "unexpected_state",
  "unknown_error",
  "unknown_service_resource",
  "unrecognised_country",
  "unrecognised_currency",
  "unrecognised_payment_method",
  "unrecognised_scheme",
  "unsupported_country",
  "unsupported_currency",
  "unsupported_scheme",
] as const;

/** A refusal by the payment service or the issuer. */
export type DeclineCode = (typeof DECLINES)[number];
/** A technical or configuration cause. */
export type FailureCode = (typeof FAILURES)[number];
export type ErrorCode = DeclineCode | FailureCode;

export const ERROR_CODES: readonly ErrorCode[] = [...DECLINES, ...FAILURES];

export function isErrorCode(text: string): text is ErrorCode {
  return ERROR_CODES.some((code) => code === text);
}

/** Whether the code means a refusal and not a defect. */
export function isDecline(code: ErrorCode): code is DeclineCode {
  return DECLINES.some((decline) => decline === code);
}

/** Codes that put the connection itself in doubt: its credentials do not work. */
export function isCredentialsError(code: ErrorCode): boolean {
  return code === "invalid_service_credentials" || code === "insufficient_service_permissions";
}
