import type { Fault } from "../../base/fault.js";
import type { JsonObject } from "../../base/json.js";
import type { FunctionFailed } from "../../functions/function-failed.js";
import type { FunctionErrorCode } from "../observation/observation.js";
import { FAULT_TABLE } from "./fault-table.js";

/** Published clients parse only "application/json". */
export const PROBLEM_TYPE = "application/json; charset=utf-8";

/** Problem details (RFC 9457) with our `code`, and `errors` by field for invalid fields. */
export interface Problem {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  readonly instance: string;
  readonly code: string;
  readonly errors?: Readonly<Record<string, readonly string[]>>;
}

export function problemDetails(fault: Fault, traceId: string): Problem {
  const { http, title } = FAULT_TABLE[fault.code];
  return {
    type: `/docs/guides/errors#${fault.code}`,
    title,
    status: http,
    detail: fault.message,
    instance: `urn:cloakroom:trace:${traceId}`,
    code: fault.code,
    ...(http === 400 || fault.fields ? { errors: fault.fields ?? {} } : {}),
  };
}

/** The headers that a fault's response has over HTTP. A scheme that browsers do not know makes none ask for a password. */
export function faultHeaders({ code, retryAfter }: Fault): Readonly<Record<string, string>> {
  return {
    ...(retryAfter === undefined ? {} : { "retry-after": String(retryAfter) }),
    ...(FAULT_TABLE[code].http === 401 ? { "www-authenticate": 'ApiKey header="BT-API-KEY"' } : {}),
  };
}

export function problemJson(fault: Fault, traceId: string): JsonObject {
  const { errors, ...rest } = problemDetails(fault, traceId);
  const json: JsonObject = { ...rest };
  if (errors) json.errors = Object.fromEntries(Object.entries(errors).map(([field, texts]) => [field, [...texts]]));
  return json;
}

const FUNCTION_TITLES: Readonly<Record<FunctionErrorCode, string>> = {
  reactor_error: "The code of the reactor failed.",
  // The published clients expect this title.
  proxy_error: "One or more validation errors occurred.",
};

/** A failure of tenants' code (docs/code.md, Fail) as problem details, whose `code` distinguishes it from our own errors. */
export function functionProblem(failed: FunctionFailed, code: FunctionErrorCode, traceId: string): JsonObject {
  return {
    type: `/docs/guides/errors#${code}`,
    title: FUNCTION_TITLES[code],
    ...failed.toJson(),
    instance: `urn:cloakroom:trace:${traceId}`,
    code,
  };
}
