import { Fault, type FaultCode } from "../base/fault.js";
import type { RefusedAddressClass } from "./address-class.js";

/** `not_sent`: no byte of the request left this process. `unknown`: the destination may have acted on it. */
export type Delivery = "not_sent" | "unknown";

/**
 * Each text follows a field's name or "The destination". None has an address, because callers must not see resolved
 * ones.
 */
const expectations = {
  unspecified: "must not be the unspecified address",
  loopback: "must not be a loopback address",
  private: "must not be a private address",
  link_local: "must not be a link-local address",
  metadata: "must not be the address of a metadata service",
  carrier_grade_nat: "must not be a shared (carrier-grade NAT) address",
  multicast: "must not be a multicast address",
  broadcast: "must not be a broadcast address",
  documentation: "must not be a documentation address",
  benchmarking: "must not be a benchmarking address",
  reserved: "must not be a reserved address",
  unique_local: "must not be a unique local address",
  site_local: "must not be a site-local address",
  discard: "must not be a discard-only address",
  transition: "must not be an IPv6 transition address",
  not_an_address: "must have an address that can be read",
  not_a_url: "must be a complete URL such as https://api.example.com/path",
  scheme: "must be an https URL",
  user_info: "must not hold a user name or password",
  fragment: "must not hold a fragment",
  host: "must have a valid host name",
  port: "must use port 443, 80 or one from 1024 on that belongs to no other protocol",
  plain_http: "must use https",
  denied: "must not be one that the operator of this service denies",
} as const satisfies Readonly<Record<RefusedAddressClass, string>> & Readonly<Record<string, string>>;

/** Why a destination may not be called. Also the metric label of refusals. */
export type RefusalReason = keyof typeof expectations;

const failures = {
  invalid_request: ["unprocessable", "The request to the destination is not valid HTTP."],
  name_not_found: ["destination_unreachable", "The destination's name does not exist."],
  name_timeout: ["destination_unreachable", "The destination's name could not be resolved in time."],
  name_failed: ["destination_unreachable", "The destination's name could not be resolved."],
  connect_timeout: ["destination_unreachable", "The destination could not be connected to in time."],
  connect_failed: ["destination_unreachable", "The destination could not be connected to."],
  wrong_peer: ["destination_unreachable", "The destination responded from another address than the one checked."],
  tls_failed: ["destination_unreachable", "No secure connection to the destination could be set up."],
  certificate_invalid: ["destination_unreachable", "The destination's certificate could not be verified."],
  request_body_failed: ["malformed_body", "The request's body could not be read to its end."],
  headers_timeout: ["destination_timeout", "The destination did not respond in time."],
  connection_lost: [
    "destination_unreachable",
    "The destination closed the connection before its response was complete.",
  ],
  malformed_response: ["destination_unreachable", "The destination's response is not valid HTTP."],
  response_headers_too_large: ["destination_unreachable", "The headers of the destination's response are too large."],
  body_timeout: ["destination_timeout", "The destination's response stopped before its end."],
  body_too_large: ["destination_unreachable", "The destination's response is too large."],
  aborted: ["destination_timeout", "The call to the destination was cancelled."],
} as const satisfies Readonly<Record<string, readonly [FaultCode, string]>>;

export type FailureReason = keyof typeof failures;

export type EgressReason = RefusalReason | FailureReason;

/**
 * A refused or failed call. The message may go to callers and logs, so it has no address, host or URL. The underlying
 * error is dropped, because Node's texts name all three; its code and {@link EgressError.destination} are kept for the
 * operator's log.
 */
export class EgressError extends Error {
  override readonly name = "EgressError";
  readonly reason: EgressReason;
  readonly delivery: Delivery;
  /** The underlying code of Node or OpenSSL, such as `ECONNREFUSED` or `CERT_HAS_EXPIRED`. */
  readonly systemCode: string | undefined;
  #destination: { readonly host: string; readonly port: number } | undefined;

  constructor(reason: EgressReason, delivery: Delivery = "not_sent", cause?: unknown) {
    super(isRefusal(reason) ? `The destination ${expectations[reason]}.` : failures[reason][1]);
    this.reason = reason;
    this.delivery = delivery;
    this.systemCode = systemErrorCode(cause);
  }

  /** The destination of the call, for the operator's log only: callers do not see names and ports. */
  get destination(): { readonly host: string; readonly port: number } | undefined {
    return this.#destination;
  }

  /** Records the destination of the call. */
  at({ host, port }: { readonly host: string; readonly port: number }): void {
    this.#destination ??= { host, port };
  }

  /** The error as callers see it: destination_timeout for a late response, otherwise mostly destination_unreachable. */
  toFault(): Fault {
    const code = isRefusal(this.reason) ? "destination_unreachable" : failures[this.reason][0];
    return new Fault(code, this.message, { cause: this });
  }
}

export function isRefusal(reason: EgressReason): reason is RefusalReason {
  return reason in expectations;
}

/** The expectation that follows a field's name: "must use https". */
export function egressExpectation(reason: RefusalReason): string {
  return expectations[reason];
}

/** The `code` of a Node error, or the first one in an aggregate. Values that do not look like a code are dropped. */
export function systemErrorCode(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  if ("code" in error && typeof error.code === "string" && /^[A-Z0-9_]+$/.test(error.code)) return error.code;
  if (error instanceof AggregateError) {
    return error.errors.map(systemErrorCode).find((code) => code !== undefined);
  }
  return undefined;
}
