import { boundedFields, type FieldFaults, MAX_FAULTS } from "./field-faults.js";

/** Errors that callers see. `api/faults/fault-table.ts` maps each code to its HTTP and gRPC status. */
export const FAULT_CODES = [
  "malformed_body",
  "validation_failed",
  "unauthenticated",
  "permission_denied",
  "second_factor_required",
  "reason_required",
  "reason_invalid",
  "not_found",
  "method_not_allowed",
  "destination_timeout",
  "already_exists",
  "conflict",
  "wrong_state",
  "idempotency_in_flight",
  "body_too_large",
  "headers_too_large",
  "request_timeout",
  "unsupported_media_type",
  "expectation_failed",
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
  /** Seconds after which a retry makes sense. */
  retryAfter?: number;
  /** For the operator's log only; never sent to a caller. */
  cause?: unknown;
}

/** The longest detail, in characters. Over gRPC it is one trailer, of which clients take 8 KiB. */
const MAX_DETAIL_CHARACTERS = 2_000;

/**
 * An error whose code, detail and fields go to the caller, as far as one response holds them. None may contain a stored
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

/** An internal cause in fixed words that the operator's log may show. */
export class Reason extends Error {
  override readonly name = "Reason";
}

/** One field of the request is wrong. `expectation` says what is expected: "must be a nine-digit routing number". */
export function invalid(field: string, expectation: string): Fault {
  return invalidFields({ [field]: [expectation] });
}

/** One fault for several fields at once, by their names as the caller sent them. Its detail is the first problem. */
export function invalidFields(fields: FieldFaults): Fault {
  return new Fault("validation_failed", firstProblem(fields), { fields });
}

/**
 * Byte limits of a field name and an expectation within a detail; longer ones are cut, because callers may choose them.
 * gRPC sends details in trailers, of which clients accept 8 KiB, with three characters for each non-ASCII byte.
 */
const MAX_FIELD_LENGTH = 64;
const MAX_EXPECTATION_LENGTH = 192;

/** `rules[0].transform must be one of: redact, mask, reveal (1 of 3 problems)` */
function firstProblem(fields: FieldFaults): string {
  const [first] = Object.entries(fields);
  if (!first) return "The request is not valid.";
  const [field, [expectation = "is not valid"]] = first;
  const problem = `${shortened(field, MAX_FIELD_LENGTH)} ${shortened(expectation, MAX_EXPECTATION_LENGTH)}`;
  const count = Object.values(fields).reduce((sum, { length }) => sum + length, 0);
  return count > 1 ? `${problem} (1 of ${count} problems)` : problem;
}

function shortened(text: string, bytes: number): string {
  const encoded = Buffer.from(text);
  if (encoded.length <= bytes) return text.toWellFormed();
  return `${new TextDecoder().decode(encoded.subarray(0, bytes), { stream: true })}...`;
}

/**
 * Adds the faults that further checks of the same request find. A check reports by throwing a fault. Fields that
 * already have a fault, and their parents and children, are not reported again.
 */
export function withFurtherFaults(fault: Fault, checks: readonly (() => unknown)[]): Fault {
  if (fault.code !== "validation_failed" || !fault.fields) return fault;
  const all: Record<string, readonly string[]> = { ...fault.fields };
  let failed = 0;
  for (const check of checks) {
    const found = Object.entries(faultThrownBy(check)?.fields ?? {});
    if (found.length > 0) failed += 1;
    // A list that is too long has one check per entry.
    if (failed > MAX_FAULTS || Object.keys(all).length >= MAX_FAULTS) break;
    const reported = Object.keys(all);
    for (const [field, texts] of found) {
      if (!reported.some((known) => isWithin(field, known) || isWithin(known, field))) all[field] = texts;
    }
  }
  return Object.keys(all).length === Object.keys(fault.fields).length ? fault : invalidFields(all);
}

function faultThrownBy(check: () => unknown): Fault | undefined {
  try {
    check();
    return undefined;
  } catch (error) {
    return error instanceof Fault && error.code === "validation_failed" ? error : undefined;
  }
}

/** Whether `field` is `other` or a part of it. */
function isWithin(field: string, other: string): boolean {
  return field === other || field.startsWith(`${other}.`) || field.startsWith(`${other}[`);
}

/** `what` is the kind of thing, never its id: "token". */
export function notFound(what: string): Fault {
  return new Fault("not_found", `There is no such ${what}.`);
}

/** The key lacks the permission entirely. `hint` says which key has it. */
export function permissionDenied(permission: string, hint?: string): Fault {
  const lacks = `The key used lacks the permission ${permission} for this`;
  return new Fault("permission_denied", hint === undefined ? `${lacks}.` : `${lacks}: ${hint}`);
}

export const UNAVAILABLE = "The vault cannot serve this request now. Try again shortly.";

/** The request may be sent again in a second. @param reason for the operator's log. */
export function unavailable(reason: string): Fault {
  return new Fault("unavailable", UNAVAILABLE, { retryAfter: 1, cause: new Reason(reason) });
}
