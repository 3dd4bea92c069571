import type { JsonObject } from "../../../base/json.js";
import type { ErrorCode } from "../../contract/error-code.js";
import type { ProviderCodes } from "../../contract/outcome.js";
import { errorOfStatus } from "../provider-json.js";
import { textAt } from "../read-json.js";
import { errorOfName } from "./decline-codes.js";

export function refusalError(body: JsonObject, status: number): ErrorCode {
  const name = textAt(body, "error_codes", 0);
  return name === undefined && status !== 422 ? errorOfStatus(status) : errorOfName(name);
}

export function codesOfError(body: JsonObject, status: number): ProviderCodes {
  const rawCode = textAt(body, "error_codes", 0) ?? `http_${status}`;
  return { rawCode, rawDescription: textAt(body, "error_type") };
}
