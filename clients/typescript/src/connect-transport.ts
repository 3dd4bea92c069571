import { AttemptError } from "./errors.js";
import { foreignResponse, refusal } from "./response-errors.js";
import { fieldOf, isFields } from "./shape.js";
import { type Attempt, type AttemptResponse, PACKAGE, type Transport } from "./transport.js";

/** The header has at most ten digits. Servers shorten long deadlines anyway. */
const MAX_TIMEOUT_MS = 1e10;

/** Calls over Connect with JSON and fetch, for browsers and for proxies that speak no HTTP/2. */
export class ConnectTransport implements Transport {
  readonly #base: string;
  readonly #fetch: typeof fetch;

  constructor(baseUrl: URL, fetcher: typeof fetch = (input, init) => fetch(input, init)) {
    this.#base = `${baseUrl.href.replace(/\/+$/, "")}/${PACKAGE}.`;
    this.#fetch = fetcher;
  }

  /** @param signal Default: the end of the attempt. */
  async send(
    { method, message, headers, end, timeoutMs }: Attempt,
    signal: AbortSignal = end.signal,
  ): Promise<AttemptResponse> {
    const sent: Record<string, string> = {
      ...headers,
      "content-type": "application/json",
      "connect-protocol-version": "1",
    };
    if (timeoutMs < MAX_TIMEOUT_MS) sent["connect-timeout-ms"] = String(timeoutMs);
    let response: Response;
    let text: string;
    try {
      response = await this.#fetch(`${this.#base}${method}`, {
        method: "POST",
        headers: sent,
        body: JSON.stringify(message),
        signal,
        redirect: "error",
      });
      text = await response.text();
    } catch (cause) {
      throw lost(cause);
    }
    const received = Object.fromEntries(response.headers);
    const type = received["content-type"] ?? "";
    const body = type.startsWith("application/json") ? parse(text) : undefined;
    if (response.ok && body !== undefined) return { message: body, headers: received };
    if (isFields(body) && typeof body.code === "string") throw refusal({ ...readError(body), headers: received });
    throw foreignResponse(response.status, type, received);
  }
}

/** Reads an error of Connect. The server always sends `debug` in the details, so no protobuf decoder is needed. */
export function readError(body: Record<string, unknown>) {
  const details = (Array.isArray(body.details) ? body.details : []).filter(isFields);
  const debugOf = (type: string) => {
    const debug = details.find((detail) => detail.type === type)?.debug;
    return isFields(debug) ? debug : {};
  };
  const { reason, metadata } = debugOf("google.rpc.ErrorInfo");
  const { fieldViolations } = debugOf("google.rpc.BadRequest");
  return {
    rpcCode: String(body.code),
    message: String(body.message ?? ""),
    reason: typeof reason === "string" ? reason : undefined,
    metadata: isFields(metadata) ? metadata : undefined,
    violations: Array.isArray(fieldViolations) ? fieldViolations.filter(isFields) : undefined,
  };
}

export function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Errors of Node's fetch have the error of the socket as their cause; browsers do not say what happened. */
export function lost(cause: unknown): AttemptError {
  if (cause instanceof AttemptError) return cause;
  const code = fieldOf(fieldOf(cause, "cause"), "code");
  return new AttemptError({
    code: "connection_failed",
    message: `The server could not be reached, or the connection was lost${code ? ` (${code})` : ""}.`,
    didNotRun: code === "ECONNREFUSED" || code === "ENOTFOUND",
    cause,
  });
}
