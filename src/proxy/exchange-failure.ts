import { Fault } from "../base/fault.js";
import { EgressError } from "../egress/egress-error.js";

/**
 * The error to report for a failed exchange with a destination. If the caller cancelled it, by disconnecting or by a
 * deadline, that is the signal's own reason: the destination did not fail.
 */
export function failureOf(error: unknown, signal: AbortSignal): unknown {
  const cause = error instanceof Fault ? error.cause : error;
  if (signal.aborted && cause instanceof EgressError && cause.reason === "aborted") return signal.reason;
  return error instanceof EgressError ? error.toFault() : error;
}
