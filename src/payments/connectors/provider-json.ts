import { setTimeout as wait } from "node:timers/promises";
import type { JsonObject } from "../../base/json.js";
import type { ConnectorContext } from "../contract/connector.js";
import type { ErrorCode } from "../contract/error-code.js";
import type { ProviderCall, ProviderCallResult } from "../contract/provider-http.js";
import type { Unanswered } from "./ending.js";
import { parseObject } from "./read-json.js";

export type JsonCallResult =
  /** Any 2xx with a JSON object, or any 4xx. The body is empty if the service sent no JSON. */
  | {
      readonly kind: "json";
      readonly status: number;
      readonly body: JsonObject;
      /** Adyen's `transient-error`: "true" asks to resend the request. */
      readonly transientError: string | undefined;
    }
  | Unanswered;

/** A rate-limited request was not executed: it may be resent with the same key. */
const TOO_MANY = 429;
const RETRY_AFTER_MS = [200, 600];

/** Sends one call and reads its JSON. Resends only after a 429, at most twice. */
export async function callJson({ send }: ConnectorContext, call: ProviderCall): Promise<JsonCallResult> {
  for (const delay of RETRY_AFTER_MS) {
    const result = await send(call);
    if (!isRefusedForNumber(result)) return readResult(result);
    await wait(delay);
  }
  return readResult(await send(call));
}

function isRefusedForNumber(result: ProviderCallResult): boolean {
  return result.kind === "responded" && result.response.status === TOO_MANY;
}

function readResult(result: ProviderCallResult): JsonCallResult {
  if (result.kind === "never_sent") return { kind: "never_sent", codes: { rawCode: result.reason } };
  if (result.kind === "sent_unknown") return { kind: "unknown", codes: { rawCode: result.reason } };
  const { status, text } = result.response;
  const transientError = result.response.header("transient-error");
  const body = parseObject(text);
  if (status >= 200 && status < 300) {
    return body
      ? { kind: "json", status, body, transientError }
      : { kind: "unknown", codes: { rawCode: "unreadable_answer" } };
  }
  if (status >= 400 && status < 500) return { kind: "json", status, body: body ?? {}, transientError };
  return { kind: "unknown", codes: { rawCode: `http_${status}` } };
}

/** Refusals identified by their HTTP status alone, for all services. */
const BY_STATUS: ReadonlyMap<number, ErrorCode> = new Map([
  [401, "invalid_service_credentials"],
  [403, "insufficient_service_permissions"],
  [404, "unknown_service_resource"],
  [409, "service_resource_conflict"],
  [TOO_MANY, "service_rate_limit"],
]);

export function errorOfStatus(status: number): ErrorCode {
  return BY_STATUS.get(status) ?? "invalid_service_request";
}
