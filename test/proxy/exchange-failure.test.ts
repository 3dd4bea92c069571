import { describe, expect, it } from "vitest";
import { Fault } from "../../src/base/fault.js";
import { EgressError, type FailureReason } from "../../src/egress/egress-error.js";
import { exchangeFailure } from "../../src/proxy/exchange-failure.js";

const quiet = new AbortController().signal;
const cancelled = AbortSignal.abort(new Fault("request_timeout", "The deadline is over."));

describe("a failed exchange with a destination", () => {
  const CODES: Readonly<Record<FailureReason, string>> = {
    invalid_request: "unprocessable",
    name_not_found: "destination_unreachable",
    name_timeout: "destination_unreachable",
    name_failed: "destination_unreachable",
    connect_timeout: "destination_unreachable",
    connect_failed: "destination_unreachable",
    wrong_peer: "destination_unreachable",
    tls_failed: "destination_unreachable",
    certificate_invalid: "destination_unreachable",
    request_body_failed: "malformed_body",
    headers_timeout: "destination_timeout",
    connection_lost: "destination_unreachable",
    malformed_response: "destination_unreachable",
    response_headers_too_large: "destination_unreachable",
    body_timeout: "destination_timeout",
    body_too_large: "destination_unreachable",
    aborted: "destination_timeout",
  };
  const reasons: readonly FailureReason[] = [
    ...([
      "invalid_request",
      "name_not_found",
      "name_timeout",
      "name_failed",
      "connect_timeout",
      "connect_failed",
    ] as const),
    ...(["wrong_peer", "tls_failed", "certificate_invalid", "request_body_failed", "headers_timeout"] as const),
    ...([
      "connection_lost",
      "malformed_response",
      "response_headers_too_large",
      "body_timeout",
      "body_too_large",
    ] as const),
    "aborted",
  ];

  it.each(reasons)("has a code for callers: %s", (reason) => {
    expect(Object.keys(CODES)).toHaveLength(reasons.length);
    expect(exchangeFailure(new EgressError(reason, "unknown"), quiet)).toMatchObject({ code: CODES[reason] });
  });

  it("is the caller's own doing if the caller cancelled it", () => {
    const aborted = new EgressError("aborted", "unknown");
    expect(exchangeFailure(aborted, cancelled)).toBe(cancelled.reason);
    expect(exchangeFailure(aborted.toFault(), cancelled)).toBe(cancelled.reason);
  });

  it("is the destination's if that failed before the caller cancelled", () => {
    expect(exchangeFailure(new EgressError("connection_lost", "unknown"), cancelled)).toMatchObject({
      code: "destination_unreachable",
    });
    const fault = new Fault("unprocessable", "x");
    expect(exchangeFailure(fault, cancelled)).toBe(fault);
  });

  it("stays a defect if it is one", () => {
    const defect = new TypeError("x");
    expect(exchangeFailure(defect, quiet)).toBe(defect);
  });
});
