import type { Fault } from "../../base/fault.js";
import type { Json } from "../../base/json.js";
import { FunctionFailed } from "../../functions/function-failed.js";
import { DestinationFailed } from "../../proxy/destination-failed.js";
import { FAULT_TABLE } from "../faults/fault-table.js";
import { functionProblem, problemOf } from "../faults/problem.js";
import { toFault } from "../observation/observation.js";

export interface ShownError {
  readonly status: number;
  readonly body: Json;
  /** The value of BT-PROXY-DESTINATION-STATUS; undefined for a failure that is not the destination's. */
  readonly destinationStatus: number | undefined;
  /** For the operator's log; undefined if the code of a transform failed. */
  readonly fault: Fault | undefined;
}

/** The error in our form, which `proxy_error` distinguishes from the destination's. */
export function errorOf(error: unknown, traceId: string): ShownError {
  if (error instanceof DestinationFailed) {
    return { ...errorOf(error.reason, traceId), destinationStatus: error.destinationStatus };
  }
  if (error instanceof FunctionFailed) {
    const problem = functionProblem(error, "proxy_error", traceId);
    return { status: error.status, body: { proxy_error: problem }, destinationStatus: undefined, fault: undefined };
  }
  const fault = toFault(error);
  const problem = problemOf(fault, traceId);
  const shown = { ...problem, ...(fault.code === "validation_failed" ? { title: "Invalid proxy request" } : {}) };
  const body: Json = { proxy_error: JSON.parse(JSON.stringify(shown)) };
  const destinationStatus = fault.code === "destination_timeout" ? GATEWAY_TIMEOUT : undefined;
  return { status: FAULT_TABLE[fault.code].http, body, destinationStatus, fault };
}

/**
 * A silent destination has no status, and the published response is a 408. Without BT-PROXY-DESTINATION-STATUS that would
 * blame the caller, so the caller gets a gateway's status.
 */
const GATEWAY_TIMEOUT = 504;
