import type { JsonObject } from "../../../base/json.js";
import type { ErrorCode } from "../../contract/error-code.js";
import type { ProviderCodes } from "../../contract/outcome.js";
import { errorOfStatus } from "../provider-json.js";
import { textAt } from "../read-json.js";
import { errorOfDecline } from "./decline-codes.js";

/** Stripe's message to an account that may not send card numbers itself: there is no code for it. */
const WANTS_TOKENS = /card numbers? directly|raw card data/i;

/** Why a request was refused, from Stripe's `error` object. */
export function refusalError(error: JsonObject | undefined, status: number): ErrorCode {
  if (WANTS_TOKENS.test(textAt(error, "message") ?? "")) return "invalid_service_configuration";
  const known = errorOfDecline(textAt(error, "decline_code"), textAt(error, "code"));
  if (known !== undefined) return known;
  return status === 402 || textAt(error, "type") === "card_error" ? "other_decline" : errorOfStatus(status);
}

export function providerCodes(error: JsonObject | undefined): ProviderCodes {
  return {
    rawCode: textAt(error, "decline_code") ?? textAt(error, "code") ?? textAt(error, "type"),
    rawDescription: textAt(error, "message"),
    authResponseCode: textAt(error, "network_decline_code"),
    cvv: /^(?:incorrect|invalid)_cvc$/.test(textAt(error, "code") ?? "") ? "no_match" : undefined,
  };
}
