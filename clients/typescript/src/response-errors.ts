import { AttemptError, type ErrorCode, type Failure, isServerErrorCode } from "./errors.js";

/** Codes for gRPC statuses with another name, used if the server sends no code of its own. */
const CODE_OF_STATUS: Readonly<Record<string, ErrorCode>> = {
  canceled: "canceled",
  invalid_argument: "malformed_body",
  deadline_exceeded: "timeout",
  resource_exhausted: "rate_limited",
  failed_precondition: "unprocessable",
  aborted: "conflict",
  unimplemented: "method_not_allowed",
};

/** An error of the server, as read from either protocol. */
export interface ServerError {
  readonly rpcCode: string;
  readonly message: string;
  /** From google.rpc.ErrorInfo. */
  readonly reason?: string | undefined;
  readonly metadata?: Readonly<Record<string, unknown>> | undefined;
  /** From google.rpc.BadRequest. */
  readonly violations?: readonly { readonly field?: unknown; readonly description?: unknown }[] | undefined;
  readonly headers: Readonly<Record<string, string>>;
}

/** Converts an error of the server. */
export function refusal({
  rpcCode,
  message,
  reason,
  metadata = {},
  violations = [],
  headers,
}: ServerError): AttemptError {
  const name = reason ?? rpcCode;
  const code = isServerErrorCode(name) ? name : reason === undefined ? CODE_OF_STATUS[rpcCode] : undefined;
  const fields = new Map<string, readonly string[]>();
  for (const { field, description } of violations) {
    const path = String(field);
    fields.set(path, [...(fields.get(path) ?? []), String(description)]);
  }
  const failure: Failure = {
    code: code ?? "unknown",
    message:
      rpcCode === "unimplemented" && reason === undefined
        ? `${message} (The server may be older than this client.)`
        : message,
    status: metadata.status === undefined ? undefined : Number(metadata.status),
    rpcCode,
    reason,
    traceId: typeof metadata.trace_id === "string" ? metadata.trace_id : headers["bt-trace-id"],
    fields: Object.fromEntries(fields),
    retryAfter: retryAfterIn(headers),
  };
  return new AttemptError(failure);
}

/** A response that is not from Cloakroom: from a proxy in between, or from a wrong address. */
export function foreignResponse(status: number, type: string, headers: Readonly<Record<string, string>>): AttemptError {
  const isPassing = [429, 502, 503, 504].includes(status);
  const kind = type.split(";")[0] || "no content type";
  return new AttemptError({
    code: isPassing ? "unavailable" : "bad_answer",
    message: `The address returned HTTP ${status} with ${kind}, which is not a response of Cloakroom. Check baseUrl and proxies.`,
    status,
    retryAfter: retryAfterIn(headers),
  });
}

/** Seconds to wait; the header has seconds or a date (RFC 9110, 10.2.3). */
function retryAfterIn({ "retry-after": retryAfter }: Readonly<Record<string, string>>): number | undefined {
  if (retryAfter === undefined) return undefined;
  const seconds = /^\d+$/.test(retryAfter) ? Number(retryAfter) : (Date.parse(retryAfter) - Date.now()) / 1_000;
  return Number.isNaN(seconds) ? undefined : Math.max(0, seconds);
}
