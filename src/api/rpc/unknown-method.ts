import type { IncomingMessage, ServerResponse } from "node:http";
import type { UniversalServerResponse } from "@connectrpc/connect/protocol";
import { Fault } from "../../base/fault.js";
import { requestTraceId } from "../observation/trace.js";
import { toConnectError } from "./rpc-error.js";
import { refusalIn } from "./rpc-refusal.js";

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
  const refusal = refusalIn(request.headers["content-type"] ?? "", toConnectError(fault, requestTraceId(request)));
  request.resume();
  await write(response, refusal);
}

async function write(
  response: ServerResponse,
  { status, header, trailer, body }: UniversalServerResponse,
): Promise<void> {
  response.writeHead(status, Object.fromEntries(header ?? []));
  if (trailer) response.addTrailers(Object.fromEntries(trailer));
  if (body) for await (const chunk of body) response.write(chunk);
  response.end();
}
