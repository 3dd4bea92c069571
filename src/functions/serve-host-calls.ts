import type { Readable } from "node:stream";
import type { Caller } from "../access/caller.js";
import type { TenantId } from "../base/ids.js";
import { isJsonObject, type Json, type JsonObject } from "../base/json.js";
import { collectResponse } from "../egress/collect-response.js";
import { EgressError, type EgressReason } from "../egress/egress-error.js";
import type { GuardedAgents } from "../egress/guarded-agents.js";
import { guardedRequest } from "../egress/guarded-request.js";
import {
  type BtMethod,
  BtRefusal,
  type HostBody,
  type HostCalls,
  HostFailure,
  type HostFetchRequest,
  type HostFetchResponse,
} from "../sandbox/host-calls.js";
import { HOST_CALL_BYTES } from "../sandbox/limits.js";
import type { FairFetchLimiter } from "./fair-fetch-limiter.js";
import type { FetchedBytes } from "./fetched-bytes.js";
import { FunctionFailed, readErrors } from "./function-failed.js";
import type { HostCallsFor } from "./function-runner.js";

/** The response of an API operation: its REST status and body. */
export interface ApiResponse {
  readonly status: number;
  readonly body: Json;
  /** The body without data that may not be stored, such as a card's verification code. */
  lasting(): Json;
}

/** Runs an API operation as an application, exactly as over REST: rights, validation and log rows included. */
export type CallApi = (caller: Caller, method: BtMethod, args: Json, signal: AbortSignal) => Promise<ApiResponse>;

/** The way out for tenants' code, and its limits. */
export interface FetchingParts {
  readonly agents: GuardedAgents;
  readonly turns: FairFetchLimiter;
  readonly fetched: FetchedBytes;
}

/** `bt` is the API under the application's rights; `fetch` goes through the egress guard in the tenant's own pool. */
export function hostCallsOver(callApi: CallApi, fetching: FetchingParts): HostCallsFor {
  return (tenantId, application) => ({
    ...(application
      ? {
          bt: async (method: BtMethod, args: Json, signal: AbortSignal) => {
            const { status, body } = await callApi(application, method, args, signal);
            if (status >= 400) throw new BtRefusal(status, body);
            return body;
          },
        }
      : {}),
    fetch: guardedFetch(fetching, tenantId),
  });
}

/** Makes requests in the tenant's own pool, under the rules for all tenants' code. */
export function guardedFetch(parts: FetchingParts, tenantId: TenantId): HostCalls["fetch"] {
  return (request, signal) => fetchInTurn(parts, tenantId, request, signal);
}

/** The codes of Node's own clients, which libraries tell retryable failures by. */
const NODE_CODES: Readonly<Partial<Record<EgressReason, string>>> = {
  name_not_found: "ENOTFOUND",
  name_failed: "EAI_AGAIN",
  name_timeout: "ETIMEDOUT",
  connect_timeout: "ETIMEDOUT",
  headers_timeout: "ETIMEDOUT",
  body_timeout: "ETIMEDOUT",
  connection_lost: "ECONNRESET",
};

/** Creates a token as an application. @throws {FunctionFailed} with the API's error. */
export async function createTokenFor(
  callApi: CallApi,
  application: Caller,
  request: JsonObject,
  signal: AbortSignal,
): Promise<Json> {
  const { status, body } = await callApi(application, "tokens.create", request, signal);
  if (status < 400) return body;
  const { detail, errors } = isJsonObject(body) ? body : {};
  throw new FunctionFailed(
    status,
    typeof detail === "string" ? detail : "A token could not be created.",
    readErrors(errors),
  );
}

async function fetchInTurn(
  parts: FetchingParts,
  tenantId: TenantId,
  request: HostFetchRequest,
  signal: AbortSignal,
): Promise<HostFetchResponse> {
  const { timeoutMs } = request;
  const cancelled = timeoutMs === undefined ? signal : AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
  try {
    return await parts.turns.take(tenantId, cancelled, () => fetchGuarded(parts, tenantId, request, cancelled));
  } catch (error) {
    if (!(error instanceof EgressError)) throw error;
    // A time-out set by the code is a time-out, not a cancelled call.
    if (error.reason === "body_too_large") throw tooLarge();
    const isLate = error.reason === "aborted" && !signal.aborted;
    const code = isLate ? "ETIMEDOUT" : (NODE_CODES[error.reason] ?? error.systemCode ?? "EREFUSED");
    throw new HostFailure(code, error.message);
  }
}

async function fetchGuarded(
  { agents, fetched }: FetchingParts,
  tenantId: TenantId,
  { url, method, headers, body }: HostFetchRequest,
  signal: AbortSignal,
): Promise<HostFetchResponse> {
  const response = await guardedRequest(agents, {
    url,
    method,
    headers,
    pool: tenantId,
    signal,
    maxBodyBytes: HOST_CALL_BYTES,
    body: body && bodyBytes(body),
  });
  return {
    status: response.status,
    statusText: response.statusText,
    headers: response.rawHeaders,
    body: await readAll(response.body, tenantId, fetched),
  };
}

function bodyBytes(body: HostBody): Buffer {
  return "text" in body ? Buffer.from(body.text) : Buffer.from(body.base64, "base64");
}

/** @throws {HostFailure} if code fetches too much at once. */
async function readAll(body: Readable, tenantId: TenantId, fetched: FetchedBytes): Promise<HostBody> {
  let size = 0;
  try {
    const bytes = await collectResponse(body, (count) => {
      fetched.take(tenantId, count);
      size += count;
    });
    return shownBody(bytes);
  } finally {
    fetched.release(tenantId, size);
  }
}

function tooLarge(): HostFailure {
  return new HostFailure("ELIMIT", `the response is larger than ${HOST_CALL_BYTES} bytes`);
}

/** Text if the bytes are UTF-8: most responses are, and base64 costs the code a third more. */
function shownBody(bytes: Buffer): HostBody {
  const text = bytes.toString("utf8");
  return Buffer.from(text).equals(bytes) ? { text } : { base64: bytes.toString("base64") };
}
