import type { Message } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { ProxyService } from "../../../gen/cloakroom/v1/proxies_pb.js";
import { type Fault, invalid } from "../../base/fault.js";
import { FunctionFailed } from "../../functions/function-failed.js";
import type { Admission, MethodAdmission } from "../admission/admission.js";
import { FAULT_TABLE } from "../faults/fault-table.js";
import { isCancelled, type Observation, toFault } from "../observation/observation.js";
import type { MethodResponse, Pipeline } from "../pipeline/pipeline.js";
import type { RequestHead } from "../request/request-head.js";
import { connectErrorOfFunction, toConnectError } from "./rpc-error.js";

/** Admits or refuses a call before its message is read. @throws {ConnectError} in the caller's form. */
export async function admitCall(
  pipeline: MethodAdmission,
  head: RequestHead,
  observation: Observation,
): Promise<Admission> {
  try {
    const admission = await pipeline.admit(head);
    observation.caller = admission.caller;
    return admission;
  } catch (error) {
    throw recordFailure(error, observation, head.traceId);
  }
}

export interface AdmittedCall {
  readonly admission: Admission;
  readonly observation: Observation;
}

/**
 * Runs a method for an admitted call. `throwIfOver` throws the reason of a call that was cancelled meanwhile.
 * @throws {ConnectError} in the caller's form.
 */
export async function runCall(
  pipeline: Pipeline,
  { admission, observation }: AdmittedCall,
  message: Message,
  throwIfOver: () => void,
): Promise<MethodResponse> {
  try {
    throwIfOver();
    const response = await pipeline.run(admission, {
      message,
      unreadable: pipeline.takesMask ? maskFault(message) : undefined,
    });
    observation.end(200);
    return response;
  } catch (error) {
    const { traceId, signal } = admission.head;
    if (isCancelled(error, signal)) {
      const reason = ConnectError.from(error, Code.Canceled);
      observation.cancel(reason.code === Code.DeadlineExceeded ? "deadline_exceeded" : "canceled");
      throw reason;
    }
    if (!(error instanceof FunctionFailed)) throw recordFailure(error, observation, traceId);
    const code = pipeline.method.desc.parent === ProxyService ? "proxy_error" : "reactor_error";
    observation.failFunction(error.status, code);
    throw connectErrorOfFunction(error, code, traceId);
  }
}

/** Records a thrown value in the operator's log and converts it for the caller. */
export function recordFailure(error: unknown, observation: Observation, traceId: string): ConnectError {
  const fault = toFault(error);
  observation.fail(FAULT_TABLE[fault.code].http, fault);
  return toConnectError(fault, traceId);
}

/** REST fills the mask from the keys present, which may be none. An RPC caller with an empty mask forgot it. */
function maskFault(request: Message): Fault | undefined {
  const mask: unknown = Reflect.get(request, "updateMask");
  const paths = typeof mask === "object" && mask !== null && "paths" in mask ? mask.paths : undefined;
  return Array.isArray(paths) && paths.length > 0
    ? undefined
    : invalid("update_mask", "must name the fields to change");
}
