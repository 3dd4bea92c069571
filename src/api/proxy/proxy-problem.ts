import type { Fault } from "../../base/fault.js";
import type { Json } from "../../base/json.js";
import { FunctionFailed } from "../../functions/function-failed.js";
import { DestinationFailed } from "../../proxy/destination-failed.js";
import { FAULT_TABLE } from "../faults/fault-table.js";
import { functionProblem, problemDetails } from "../faults/problem.js";
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
export function toProxyError(error: unknown, traceId: string): ShownError {
  if (error instanceof DestinationFailed) {
    const { reason, destinationStatus } = error;
    if (reason instanceof FunctionFailed) return transformFailure(reason, traceId, { destinationStatus });
    return { ...toProxyError(reason, traceId), destinationStatus };
  }
  if (error instanceof FunctionFailed) return transformFailure(error, traceId);
  const fault = toFault(error);
  const problem = problemDetails(fault, traceId);
  const shown = { ...problem, ...(fault.code === "validation_failed" ? { title: "Invalid proxy request" } : {}) };
  const body: Json = { proxy_error: JSON.parse(JSON.stringify(shown)) };
  const destinationStatus = fault.code === "destination_timeout" ? GATEWAY_TIMEOUT : undefined;
  return { status: FAULT_TABLE[fault.code].http, body, destinationStatus, fault };
}

/**
 * What the code of a transform threw blames neither the destination, which the header would, nor the vault: the code
 * says whose it is. After a response its status is in the body: the destination has done its work.
 */
function transformFailure(
  failed: FunctionFailed,
  traceId: string,
  after?: { readonly destinationStatus: number },
): ShownError {
  const problem = functionProblem(failed, "proxy_error", traceId);
  const body = { proxy_error: { ...problem, ...(after ? { destination_status: after.destinationStatus } : {}) } };
  return { status: failed.status, body, destinationStatus: undefined, fault: undefined };
}

/**
 * A silent destination has no status, and the published response is a 408. Without BT-PROXY-DESTINATION-STATUS that would
 * blame the caller, so the caller gets a gateway's status.
 */
const GATEWAY_TIMEOUT = 504;
