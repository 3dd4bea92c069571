import type { ErrorCode } from "../../contract/error-code.js";

/** Our error codes, each with the response reason codes that map to it (Authorize.net's response code list). */
const DECLINE_CODES: readonly (readonly [error: ErrorCode, codes: string])[] = [
  ["issuer_decline", "2 3"],
  ["canceled_payment_method", "4"],
  ["invalid_amount", "5 47 49 51 55 104 289"],
  ["unrecognised_payment_method", "6 37 315"],
  ["incorrect_expiry_date", "7 316"],
  ["expired_payment_method", "8 317"],
  ["duplicate_transaction", "11"],
  ["invalid_service_credentials", "13 103"],
  ["unknown_service_resource", "16"],
  ["unsupported_payment_method", "17 28"],
  ["service_error", "19 20 21 22 23 25 26 35 57 58 59 60 61 62 63 120 121 122 152"],
  ["incorrect_billing_address", "27 127"],
  ["invalid_service_configuration", "30 38 40 87 88 89 90 91 92"],
  ["invalid_service_request", "33"],
  ["suspected_fraud", "41 250 251 254"],
  ["incorrect_cvv", "44 45 65 78"],
  ["unexpected_state", "50 54 310 311"],
];

const BY_CODE: ReadonlyMap<string, ErrorCode> = new Map(
  DECLINE_CODES.flatMap(([error, codes]) => codes.split(" ").map((code): [string, ErrorCode] => [code, error])),
);

/** `wasDeclined` separates an unknown decline code from a defect. */
export function errorOfDecline(code: string | undefined, wasDeclined: boolean): ErrorCode {
  return BY_CODE.get(code ?? "") ?? (wasDeclined ? "other_decline" : "invalid_service_request");
}

/** Codes of a message about the request itself. */
const BY_MESSAGE: Readonly<Record<string, ErrorCode>> = {
  E00005: "invalid_service_credentials",
  E00006: "invalid_service_credentials",
  E00007: "invalid_service_credentials",
  E00008: "invalid_service_credentials",
  E00009: "service_error",
  E00010: "insufficient_service_permissions",
  E00011: "insufficient_service_permissions",
  E00040: "unknown_service_resource",
};

export function errorOfMessage(code: string | undefined): ErrorCode {
  const known = code !== undefined && Object.hasOwn(BY_MESSAGE, code) ? BY_MESSAGE[code] : undefined;
  return known ?? "invalid_service_request";
}

/** The service failed: it may have executed the request or not. */
export function isOpenMessage(code: string | undefined): boolean {
  return code === "E00001" || code === "E00053" || code === "E00104";
}
