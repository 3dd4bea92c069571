import type { IncomingMessage, ServerResponse } from "node:http";
import type { Fault } from "../../base/fault.js";
import { dropUnreadBody } from "../connection/unread-body.js";
import { faultHeaders, PROBLEM_TYPE, problemDetails } from "../faults/problem.js";

export interface RestExchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

export interface RestReply {
  readonly status: number;
  /** The content type. Absent without a body. */
  readonly type?: string | undefined;
  readonly body?: string | Buffer | undefined;
}

/** Statuses whose responses have no length (RFC 9110, 8.6). */
const WITHOUT_LENGTH = new Set([204, 304]);

/** Sends a response as a whole, after the rest of a body that was not read. Undefined: it is sent. */
export function sendReply(exchange: RestExchange, reply: RestReply): Promise<void> | undefined {
  if (!exchange.request.complete) return sendAfterBody(exchange, reply);
  send(exchange, reply);
  return undefined;
}

async function sendAfterBody(exchange: RestExchange, reply: RestReply): Promise<void> {
  const { request, response } = exchange;
  const isAllRead = await dropUnreadBody(request);
  if (!isAllRead && request.httpVersionMajor === 1) response.setHeader("connection", "close");
  send(exchange, reply);
}

function send({ request, response }: RestExchange, { status, type, body }: RestReply): void {
  if (type !== undefined) response.setHeader("content-type", type);
  if (!WITHOUT_LENGTH.has(status))
    response.setHeader("content-length", body === undefined ? 0 : Buffer.byteLength(body));
  response.writeHead(status);
  response.end(request.method === "HEAD" ? undefined : body);
}

export async function sendFaultReply(exchange: RestExchange, fault: Fault, traceId: string): Promise<void> {
  const problem = problemDetails(fault, traceId);
  for (const [name, value] of Object.entries(faultHeaders(fault))) exchange.response.setHeader(name, value);
  await sendReply(exchange, { status: problem.status, type: PROBLEM_TYPE, body: JSON.stringify(problem) });
}
