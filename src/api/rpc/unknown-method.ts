import type { IncomingMessage, ServerResponse } from "node:http";
import { Fault } from "../../base/fault.js";
import { requestTraceId } from "../observation/trace.js";
import { toConnectError } from "./rpc-error.js";
import { sendRefusal } from "./rpc-refusal.js";

/** Content types that only calls of a method have. JSON is REST's as well. */
const RPC_TYPE = /^application\/(?:grpc|connect\+|proto\b)/;

export function isRpcCall({ method, headers }: IncomingMessage): boolean {
  if (method !== "POST") return false;
  return RPC_TYPE.test(headers["content-type"] ?? "") || headers["connect-protocol-version"] !== undefined;
}

/**
 * Answers a call of an unknown method in its protocol: a gRPC client would attribute an HTTP status to an intermediary.
 */
export async function refuseUnknownMethod(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const fault = new Fault("method_not_allowed", "There is no such method.");
  request.resume();
  await sendRefusal(request, response, toConnectError(fault, requestTraceId(request)));
}
