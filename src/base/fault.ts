import { boundedFields, type FieldFaults } from "./field-faults.js";

/**
 * Everything that can go wrong in a way the caller is told about. The statuses of each code on HTTP and gRPC stand in
 * one table, `api/fault-table.ts`.
 */
export const FAULT_CODES = [
  "malformed_body",
  "validation_failed",
  "unauthenticated",
  "permission_denied",
  "not_found",
  "method_not_allowed",
  "destination_timeout",
  "already_exists",
  "conflict",
  "wrong_state",
  "idempotency_in_flight",
  "body_too_large",
  "unsupported_media_type",
  "unprocessable",
  "rate_limited",
  "internal",
  "destination_unreachable",
  "unavailable",
] as const;

export type FaultCode = (typeof FAULT_CODES)[number];

export function isFaultCode(text: string): text is FaultCode {
  return FAULT_CODES.some((code) => code === text);
}

export interface FaultOptions {
  fields?: FieldFaults;
  /** Seconds after which trying again makes sense. */
  retryAfter?: number;
  /** For the operator's log only; never sent to a caller. */
  cause?: unknown;
}

/** The longest detail, in characters. Over gRPC it is one trailer, of which clients take 8 KiB. */
const MAX_DETAIL_CHARACTERS = 2_000;

/**
 * An error whose code, detail and fields go to the caller, as far as they fit into one answer. None of them may hold a stored
 * value, a key or driver text.
 */
export class Fault extends Error {
  override readonly name = "Fault";
  readonly code: FaultCode;
  readonly fields: FieldFaults | undefined;
  readonly retryAfter: number | undefined;

  constructor(code: FaultCode, detail: string, options: FaultOptions = {}) {
    super(detail.slice(0, MAX_DETAIL_CHARACTERS), options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.fields = options.fields && boundedFields(options.fields);
    this.retryAfter = options.retryAfter;
  }
}

/** Why something failed, in fixed words that the operator's log may show. */
export class Reason extends Error {
  override readonly name = "Reason";
}

/** One field of the request is wrong. `expectation` says what is expected: "must be a nine-digit routing number". */
export function invalid(field: string, expectation: string): Fault {
  return invalidFields({ [field]: [expectation] });
}

/** One fault for several fields at once, by their names as the caller sent them. */
export function invalidFields(fields: FieldFaults): Fault {
  return new Fault("validation_failed", "One or more validation errors occurred.", { fields });
}

/** `what` is the kind of thing, never its id: "token". */
export function notFound(what: string): Fault {
  return new Fault("not_found", `There is no such ${what}.`);
}

/** The key lacks a permission altogether. */
export function permissionDenied(permission: string): Fault {
  return new Fault("permission_denied", `The key used lacks the permission ${permission} for this.`);
}
