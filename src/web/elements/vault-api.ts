import type { CallError } from "../../../clients/elements/src/protocol.js";
import { messageFields, textIn } from "./messages-in.js";
import type { Json } from "./request-body.js";

/** How long a call may take, in milliseconds. Longer than the vault's own limit of 30 s. */
const TIMEOUT_MS = 40_000;

export class CallFailed extends Error {
  readonly error: CallError;

  constructor(error: CallError) {
    super(error.message);
    this.error = error;
  }
}

export interface VaultCall {
  readonly method: "GET" | "POST";
  readonly path: string;
  readonly apiKey: string;
  /** The frame's pass, the name of its key, and the page's origin. */
  readonly frame: string;
  readonly body?: Json;
  readonly idempotencyKey?: string;
  readonly signal?: AbortSignal;
}

/** Calls the vault's API. @throws {CallFailed} */
export async function callVault(call: VaultCall): Promise<Json> {
  const { method, path, apiKey, frame, body, idempotencyKey, signal } = call;
  const headers: Record<string, string> = { "BT-API-KEY": apiKey, "Cloakroom-Frame": frame };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  if (idempotencyKey !== undefined) headers["BT-IDEMPOTENCY-KEY"] = idempotencyKey;
  const limit = AbortSignal.timeout(TIMEOUT_MS);
  const response = await fetch(path, {
    method,
    headers,
    credentials: "omit",
    cache: "no-store",
    redirect: "error",
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    signal: signal ? AbortSignal.any([signal, limit]) : limit,
  }).catch(() => {
    throw new CallFailed(
      signal?.aborted
        ? { code: "cancelled", message: "The call was cancelled." }
        : { code: "network", message: "The vault could not be reached." },
    );
  });
  const content: unknown = await response.json().catch(() => undefined);
  if (response.ok) return JSON.parse(JSON.stringify(content ?? null));
  throw new CallFailed(callError(response, content));
}

/** What the problem details say. They contain no values. */
function callError(response: Response, content: unknown): CallError {
  const { code, detail, errors } = messageFields(content);
  const traceId = response.headers.get("bt-trace-id");
  const problems = Object.entries(messageFields(errors)).map(([place, texts]): [string, string[]] => [
    place,
    Array.isArray(texts) ? texts.map(String) : [],
  ]);
  return {
    code: textIn(code) ?? "failed",
    message: textIn(detail) ?? `The vault returned ${response.status}.`,
    status: response.status,
    ...(problems.length > 0 ? { errors: Object.fromEntries(problems) } : {}),
    ...(traceId === null ? {} : { traceId }),
  };
}
