import { Fault } from "../base/fault.js";
import { EgressError } from "../egress/egress-error.js";

/**
 * The error to report when a call to a destination fails. If the caller ended the call, by disconnecting or by its
 * deadline, that is the signal's reason, because the destination did not fail.
 */
export function exchangeFailure(error: unknown, signal: AbortSignal): unknown {
  const cause = error instanceof Fault ? error.cause : error;
  if (signal.aborted && cause instanceof EgressError && cause.reason === "aborted") return signal.reason;
  return error instanceof EgressError ? error.toFault() : error;
}
