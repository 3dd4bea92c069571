import { Fault, type FaultCode, invalidFields } from "../base/fault.js";
import { NO_CODE } from "../tokens/code-names.js";

/*
 * What a frame learns of a fault. The page wrote the request except for the values, so texts about what the page wrote
 * help its author. Of a value a text says only that it is not valid: "has a digit too many" would be a way to ask.
 */

/** Codes whose texts never depend on a value. Others get one text for each code. */
const PLAIN: ReadonlySet<FaultCode> = new Set([
  ...(["unauthenticated", "permission_denied", "reason_required", "reason_invalid"] as const),
  ...(["malformed_body", "body_too_large", "headers_too_large", "request_timeout"] as const),
  ...(["unsupported_media_type", "idempotency_in_flight", "rate_limited", "unavailable", "not_found"] as const),
]);

/** Fields that the page wrote, by their name in a token request. */
const OF_PAGES =
  /^value$|(?:^|[.])(?:type|template|id|mask|search_indexes|fingerprint_expression|deduplicate_token|expires_at)$/;
const LISTS_OF_PAGES = /(?:^|[.])(?:containers(?:\[\d+\])?|metadata(?:[.].*)?|BT-IDEMPOTENCY-KEY)$/s;
const WITHIN_DATA = /(?:^|[.])(?:data|card_data|bank_data)(?:[.[]|$)/;

export function forFrame(error: unknown): unknown {
  if (!(error instanceof Fault) || PLAIN.has(error.code)) return error;
  if (error.code !== "validation_failed" || !error.fields) return plainFault(error.code);
  const fields = Object.entries(error.fields).map(
    ([name, texts]) => [name, isOfPage(name) || isAboutName(texts) ? texts : [NOT_VALID]] as const,
  );
  return fields.length > 0 ? invalidFields(Object.fromEntries(fields)) : plainFault(error.code);
}

const NOT_VALID = "is not valid";

function isOfPage(name: string): boolean {
  return !WITHIN_DATA.test(name) && (OF_PAGES.test(name) || LISTS_OF_PAGES.test(name));
}

function plainFault(code: FaultCode): Fault {
  return new Fault(code, code === "validation_failed" ? "The request is not valid." : "The vault refuses the request.");
}

/** The page chose the names in its data too. */
function isAboutName([text]: readonly string[]): boolean {
  return text === NO_CODE;
}
