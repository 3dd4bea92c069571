import { Fault } from "../base/fault.js";
import { EgressError } from "../egress/egress-error.js";

/**
 * What is told of a failed exchange with a destination. Where the caller broke it off, by leaving or by a deadline that has
 * passed, that is the signal's own reason: nobody failed, the destination least of all.
 */
export function failureOf(error: unknown, signal: AbortSignal): unknown {
  const cause = error instanceof Fault ? error.cause : error;
  if (signal.aborted && cause instanceof EgressError && cause.reason === "aborted") return signal.reason;
  return error instanceof EgressError ? error.toFault() : error;
}
