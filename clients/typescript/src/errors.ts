/** Codes of the server, the same as on REST. */
export type ServerErrorCode =
  | "malformed_body"
  | "validation_failed"
  | "unauthenticated"
  | "permission_denied"
  | "second_factor_required"
  | "reason_required"
  | "reason_invalid"
  | "not_found"
  | "method_not_allowed"
  | "destination_timeout"
  | "already_exists"
  | "conflict"
  | "wrong_state"
  | "idempotency_in_flight"
  | "body_too_large"
  | "headers_too_large"
  | "request_timeout"
  | "unsupported_media_type"
  | "expectation_failed"
  | "unprocessable"
  | "rate_limited"
  | "internal"
  | "destination_unreachable"
  | "unavailable"
  | "proxy_error"
  | "reactor_error";

/**
 * What the client itself ends a call with: the server cannot be reached or its connection is lost, the time of the call is
 * over, the caller's signal has aborted it, the address returns something else than a response of Cloakroom.
 */
export type ClientErrorCode = "connection_failed" | "timeout" | "canceled" | "bad_answer";

/** `unknown`: a newer server has a code that this client does not know; `reason` holds it. */
export type ErrorCode = ServerErrorCode | ClientErrorCode | "unknown";

/** HTTP status of each code of the server on REST. */
const STATUS: Readonly<Record<ServerErrorCode, number | undefined>> = {
  malformed_body: 400,
  validation_failed: 400,
  unauthenticated: 401,
  permission_denied: 403,
  second_factor_required: 403,
  reason_required: 403,
  reason_invalid: 400,
  not_found: 404,
  method_not_allowed: 405,
  destination_timeout: 408,
  already_exists: 409,
  conflict: 409,
  wrong_state: 409,
  idempotency_in_flight: 409,
  body_too_large: 413,
  headers_too_large: 431,
  request_timeout: 408,
  unsupported_media_type: 415,
  expectation_failed: 417,
  unprocessable: 422,
  rate_limited: 429,
  internal: 500,
  destination_unreachable: 502,
  unavailable: 503,
  // Code of a tenant chooses the status itself.
  proxy_error: undefined,
  reactor_error: undefined,
};

export function isServerErrorCode(text: string): text is ServerErrorCode {
  return Object.hasOwn(STATUS, text);
}

/** What went wrong, before it is known which call and attempt it belongs to. Never holds a body or a header. */
export interface Failure {
  readonly code: ErrorCode;
  readonly message: string;
  /** The call certainly had no effect: it can be sent again whatever it is. */
  readonly didNotRun?: boolean;
  /** Another attempt would fail as well: a wrong address, a certificate that is not trusted. */
  readonly isFinal?: boolean;
  readonly status?: number | undefined;
  readonly rpcCode?: string | undefined;
  readonly reason?: string | undefined;
  readonly traceId?: string | undefined;
  readonly fields?: Readonly<Record<string, readonly string[]>> | undefined;
  /** Seconds. */
  readonly retryAfter?: number | undefined;
  readonly cause?: unknown;
}

/** How transports end an attempt. Callers see it as a CloakroomError. */
export class AttemptError extends Error {
  readonly failure: Failure;

  constructor(failure: Failure) {
    super(failure.message);
    this.failure = failure;
  }
}

/** The call that an error belongs to. */
export interface FailedCall {
  readonly method: string;
  readonly attempts: number;
  readonly idempotencyKey?: string | undefined;
  readonly isBudgetSpent?: boolean;
}

/** Every error of this client. `code` says which: a `switch` over it can be exhaustive. */
export class CloakroomError extends Error {
  override readonly name = "CloakroomError";
  readonly code: ErrorCode;
  /** HTTP status that the server has for it; undefined where the server did not respond. */
  readonly status: number | undefined;
  /** Status of gRPC, such as `not_found`. */
  readonly rpcCode: string | undefined;
  /** The server's own word for the error, known to this client or not. */
  readonly reason: string | undefined;
  /** Finds the call in the operator's log. */
  readonly traceId: string | undefined;
  /** What is wrong with each field at fault, by its path, such as `data.number`. */
  readonly fields: Readonly<Record<string, readonly string[]>>;
  /** Seconds to wait before another try, where the server says so. */
  readonly retryAfter: number | undefined;
  /** The method that was called, such as `TokenService/CreateToken`. */
  readonly method: string;
  /** How often it was sent. */
  readonly attempts: number;
  /** Sent again with this key, the call has its effect once. */
  readonly idempotencyKey: string | undefined;
  /** The call could have been sent again, but too many calls of the client had failed: see maxRetries. */
  readonly retryBudgetSpent: boolean;

  constructor(failure: Failure, call: FailedCall) {
    super(failure.message, failure.cause === undefined ? undefined : { cause: failure.cause });
    const { code } = failure;
    this.code = code;
    this.status = failure.status ?? (isServerErrorCode(code) ? STATUS[code] : undefined);
    this.rpcCode = failure.rpcCode;
    this.reason = failure.reason;
    this.traceId = failure.traceId;
    this.fields = failure.fields ?? {};
    this.retryAfter = failure.retryAfter;
    this.method = call.method;
    this.attempts = call.attempts;
    this.idempotencyKey = call.idempotencyKey;
    this.retryBudgetSpent = call.isBudgetSpent ?? false;
  }

  /** All but the stack and the cause. */
  toJSON(): object {
    return { ...this, message: this.message };
  }
}

/** A call that is refused before it is sent. */
export function invalidInput(field: string, text: string): AttemptError {
  return new AttemptError({
    code: "validation_failed",
    message: `${field} ${text}`,
    fields: { [field]: [text] },
    didNotRun: true,
    isFinal: true,
  });
}

/** A call of a client that was closed. */
export function closedClient(): AttemptError {
  return new AttemptError({
    code: "connection_failed",
    message: "The client is closed.",
    didNotRun: true,
    isFinal: true,
  });
}
