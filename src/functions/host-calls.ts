import type { Readable } from "node:stream";
import type { Caller } from "../access/caller.js";
import type { TenantId } from "../base/ids.js";
import { isJsonObject, type Json, type JsonObject } from "../base/json.js";
import { EgressError } from "../egress/egress-error.js";
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
import type { FetchedBytes } from "./fetched-bytes.js";
import { FunctionFailed, readErrors } from "./function-failed.js";
import type { HostCallsFor } from "./function-runner.js";

/** The response of an API operation: its REST status and body. */
export interface ApiAnswer {
  readonly status: number;
  readonly body: Json;
  /** The body without data that may not be stored, such as a card's verification code. */
  lasting(): Json;
}

/** Runs an API operation as an application, exactly as over REST: rights, validation and log rows included. */
export type CallApi = (caller: Caller, method: BtMethod, args: Json, signal: AbortSignal) => Promise<ApiAnswer>;

/** `bt` is the API under the application's rights; `fetch` goes through the egress guard in the tenant's own pool. */
export function hostCallsOver(callApi: CallApi, agents: GuardedAgents, fetched: FetchedBytes): HostCallsFor {
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
    fetch: guardedFetch(agents, tenantId, fetched),
  });
}

/** Makes requests in the tenant's own pool, under the rules for all tenants' code. */
export function guardedFetch(agents: GuardedAgents, tenantId: TenantId, fetched: FetchedBytes): HostCalls["fetch"] {
  return (request, signal) => fetchGuarded({ agents, tenantId, fetched }, request, signal);
}

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

interface Fetching {
  readonly agents: GuardedAgents;
  readonly tenantId: TenantId;
  readonly fetched: FetchedBytes;
}

async function fetchGuarded(
  { agents, tenantId, fetched }: Fetching,
  { url, method, headers, body, timeoutMs }: HostFetchRequest,
  signal: AbortSignal,
): Promise<HostFetchResponse> {
  const cancelled = timeoutMs === undefined ? signal : AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
  try {
    const response = await guardedRequest(agents, {
      ...{ url, method, headers, pool: tenantId, signal: cancelled, maxBodyBytes: HOST_CALL_BYTES },
      body: body && bytesOf(body),
    });
    return {
      status: response.status,
      statusText: response.statusText,
      headers: response.rawHeaders,
      body: await readAll(response.body, tenantId, fetched),
    };
  } catch (error) {
    if (!(error instanceof EgressError)) throw error;
    // A time-out set by the code is a time-out, not a cancelled call.
    if (error.reason === "body_too_large") throw tooLarge();
    const isLate = error.reason === "aborted" && !signal.aborted;
    throw new HostFailure(isLate ? "ETIMEDOUT" : (error.systemCode ?? "EREFUSED"), error.message);
  }
}

function bytesOf(body: HostBody): Buffer {
  return "text" in body ? Buffer.from(body.text) : Buffer.from(body.base64, "base64");
}

/** @throws {HostFailure} if code fetches too much at once. */
async function readAll(body: Readable, tenantId: TenantId, fetched: FetchedBytes): Promise<HostBody> {
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of body) {
      const bytes = Buffer.isBuffer(chunk) ? chunk : Buffer.from(String(chunk));
      fetched.take(tenantId, bytes.length);
      size += bytes.length;
      chunks.push(bytes);
    }
    return shownBody(Buffer.concat(chunks));
  } finally {
    fetched.release(tenantId, size);
  }
}

function tooLarge(): HostFailure {
  return new HostFailure("ELIMIT", `the answer is larger than ${HOST_CALL_BYTES} bytes`);
}

/** Text if the bytes are UTF-8: most answers are, and base64 costs the code a third more. */
function shownBody(bytes: Buffer): HostBody {
  const text = bytes.toString("utf8");
  return Buffer.from(text).equals(bytes) ? { text } : { base64: bytes.toString("base64") };
}
