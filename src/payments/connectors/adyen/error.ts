import type { JsonObject } from "../../../base/json.js";
import type { ErrorCode } from "../../contract/error-code.js";
import type { ProviderCodes } from "../../contract/outcome.js";
import { errorOfStatus } from "../provider-json.js";
import { textAt } from "../read-json.js";

/** `errorCode` of a refused request. */
const BY_CODE: Readonly<Record<string, ErrorCode>> = {
  "010": "insufficient_service_permissions",
  "100": "invalid_amount",
  "101": "unrecognised_payment_method",
  "103": "incorrect_cvv",
  "104": "invalid_billing_address",
  "131": "invalid_billing_address",
  "132": "invalid_billing_address",
  "133": "invalid_billing_address",
  "134": "invalid_billing_address",
  "135": "invalid_billing_address",
  "137": "invalid_amount",
  "138": "unsupported_currency",
  "167": "unknown_service_resource",
  "901": "invalid_service_configuration",
  "905": "invalid_service_configuration",
};

/** The first request with this key is still running. */
const STILL_RUNNING = "704";

/** The service asks to repeat the request, or is still processing it: the end of the first one is unknown. */
export function isOpenError(body: JsonObject, header: string | undefined): boolean {
  return textAt(body, "errorCode") === STILL_RUNNING || header === "true";
}

export function refusalError(body: JsonObject, status: number): ErrorCode {
  const code = textAt(body, "errorCode") ?? "";
  if (status === 401) return "invalid_service_credentials";
  return (Object.hasOwn(BY_CODE, code) ? BY_CODE[code] : undefined) ?? errorOfStatus(status);
}

export function codesOfError(body: JsonObject): ProviderCodes {
  return { rawCode: textAt(body, "errorCode"), rawDescription: textAt(body, "message") };
}
