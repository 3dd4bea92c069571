import type { IncomingMessage, ServerResponse } from "node:http";
import type { Fault } from "../../base/fault.js";
import { dropUnreadBody } from "../connection/unread-body.js";
import { FAULT_TABLE } from "../faults/fault-table.js";
import { faultHeaders, PROBLEM_TYPE, problemDetails } from "../faults/problem.js";
import { toProxyError } from "../proxy/proxy-problem.js";
import { isProxied } from "../proxy/proxy-route.js";
import { toConnectError } from "../rpc/rpc-error.js";
import { sendRefusal } from "../rpc/rpc-refusal.js";

/** Whether a request is a call over gRPC, gRPC-Web or Connect. */
export function isRpc({ url = "" }: IncomingMessage): boolean {
  return url.startsWith("/cloakroom.v1.") || url.startsWith("/grpc.");
}

/**
 * Responds to a request with a fault before it is read, in the form of its protocol: problem details over REST,
 * `proxy_error` below /proxy, an error of gRPC, gRPC-Web or Connect. The rest of its body is drained for a while, and
 * the connection closed if more follows: a client that is reset while it sends loses the response.
 */
export function refuseRequest(request: IncomingMessage, response: ServerResponse, fault: Fault, traceId: string): void {
  for (const [name, value] of Object.entries(faultHeaders(fault))) response.setHeader(name, value);
  if (isRpc(request)) void sendRefusal(request, response, toConnectError(fault, traceId));
  else
    sendProblem(
      response,
      fault,
      isProxied(request) ? toProxyError(fault, traceId).body : problemDetails(fault, traceId),
    );
  void dropUnreadBody(request).then((isAllRead) => {
    if (!isAllRead) request.destroy();
  });
}

function sendProblem(response: ServerResponse, fault: Fault, problem: unknown): void {
  const body = Buffer.from(JSON.stringify(problem));
  response.writeHead(FAULT_TABLE[fault.code].http, { "content-type": PROBLEM_TYPE, "content-length": body.length });
  response.end(body);
}
