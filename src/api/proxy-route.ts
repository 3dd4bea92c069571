import { type IncomingMessage, type ServerResponse, validateHeaderValue } from "node:http";
import { Http2ServerRequest } from "node:http2";
import { Readable } from "node:stream";
import { finished, pipeline } from "node:stream/promises";
import type { FastifyInstance } from "fastify";
import { Fault } from "../base/fault.js";
import type { Json } from "../base/json.js";
import type { HeaderPair } from "../egress/request-framing.js";
import { FunctionFailed } from "../functions/function-failed.js";
import type { ProxyAnswer, ProxyCall, ProxyTarget } from "../proxy/call.js";
import { DestinationFailed } from "../proxy/destination-failed.js";
import { proxyKeyIn } from "../proxy/forward.js";
import { CallerBody } from "./caller-body.js";
import { FAULT_TABLE } from "./fault-table.js";
import { type Observe, toFault } from "./observation.js";
import { rateRefusalOf } from "./rate-gate.js";
import { PROBLEM_TYPE, problemOf } from "./rest/problem.js";
import { parentSpanIn, traceIdOf } from "./trace.js";
import { dropUnreadBody } from "./unread-body.js";

export type InvokeProxy = (call: ProxyCall) => Promise<ProxyAnswer>;

const DESTINATION_STATUS = "BT-PROXY-DESTINATION-STATUS";

/** What can stand behind a status (RFC 9112, 4). */
const REASON_PHRASE = /^[\t\x20-\x7e\x80-\xff]+$/;

/**
 * Any method on /proxy and below. The one route written by hand: what comes and goes is the destination's business, in
 * whatever form, and is passed on as it is.
 */
export function registerProxyRoute(app: FastifyInstance, invoke: InvokeProxy, observe: Observe): void {
  for (const url of ["/proxy", "/proxy/*"]) {
    app.route({
      method: ["GET", "POST", "PUT", "PATCH", "DELETE"],
      url,
      exposeHeadRoute: false,
      config: { answersRefusals: true },
      // Taken before the framework looks at the content type: any is proxied, also one that it cannot read.
      onRequest: (request, reply) => {
        reply.hijack();
        serve(invoke, observe, request.raw, reply.raw).catch(() => reply.raw.destroy());
      },
      handler: () => {
        throw new Error("a proxied request reached its route's handler");
      },
    });
  }
}

async function serve(
  invoke: InvokeProxy,
  observe: Observe,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const traceId = traceIdOf(headerOf(request, "bt-trace-id"));
  const observation = observe({ rpc: "InvokeProxy", route: "/proxy", traceId, parent: parentSpanIn(request) });
  const gone = new AbortController();
  response.once("close", () => {
    if (!response.writableFinished) gone.abort();
  });
  response.setHeader("bt-trace-id", traceId);
  const body = hasBody(request) ? new CallerBody(request) : Buffer.alloc(0);
  try {
    const refused = rateRefusalOf(request);
    if (refused) throw refused;
    const onOwner: ProxyCall["onOwner"] = ({ tenantId, caller }) => {
      observation.tenantId = tenantId;
      observation.caller = caller;
    };
    const answer = await invoke({ ...callOf(request, body, gone.signal), onOwner });
    requireSendable(answer);
    observation.end(answer.status);
    writeHead(response, answer, request);
    await pipeline(Buffer.isBuffer(answer.body) ? Readable.from([answer.body]) : answer.body, response, { end: false });
    // The destination gave up the request before its end. Who is still sending may else lose the answer to a reset.
    if (!Buffer.isBuffer(body) && body.destroyed) await dropUnreadBody(request);
    response.end();
    await leaveReusable(request, body);
  } catch (error) {
    if (response.headersSent) {
      response.destroy();
      return;
    }
    const { status, body: problem, destinationStatus, fault } = errorOf(error, traceId);
    observation.fail(status, fault);
    // Read on for a while: who is still sending may else see the connection reset instead of the answer.
    const isAllRead = await dropUnreadBody(request);
    if (destinationStatus !== undefined) response.setHeader(DESTINATION_STATUS, destinationStatus);
    if (fault.retryAfter !== undefined) response.setHeader("retry-after", fault.retryAfter);
    if (!isAllRead && request.httpVersionMajor === 1) response.setHeader("connection", "close");
    const text = Buffer.from(JSON.stringify(problem));
    response.writeHead(status, { "content-type": PROBLEM_TYPE, "content-length": text.length });
    response.end(text);
  }
}

/** A connection whose request nobody reads to its end cannot serve another. */
async function leaveReusable(request: IncomingMessage, body: CallerBody | Buffer): Promise<void> {
  if (Buffer.isBuffer(body)) return;
  await finished(body, { writable: false }).catch(() => {});
  const isAllRead = await dropUnreadBody(request);
  if (!isAllRead && request.httpVersionMajor === 1) request.destroy();
}

/** Whether a body follows the headers: where one of no length does, the destination is sent one too. */
function hasBody(request: IncomingMessage): boolean {
  if (request instanceof Http2ServerRequest) return !request.stream.endAfterHeaders;
  return request.headers["content-length"] !== undefined || request.headers["transfer-encoding"] !== undefined;
}

function callOf(request: IncomingMessage, body: CallerBody | Buffer, signal: AbortSignal): ProxyCall {
  const url = request.url ?? "/proxy";
  const mark = url.indexOf("?");
  const query = mark < 0 ? "" : url.slice(mark);
  return {
    method: request.method ?? "GET",
    path: pathBelow(mark < 0 ? url : url.slice(0, mark)),
    query,
    headers: headerPairs(request.rawHeaders),
    body,
    apiKey: headerOf(request, "bt-api-key"),
    target: targetOf(headerOf(request, "bt-proxy-key"), headerOf(request, "bt-proxy-url"), query),
    signal,
  };
}

/** What follows the first segment, however that is spelled: the router takes /%70roxy for /proxy too. */
function pathBelow(path: string): string {
  const end = path.indexOf("/", 1);
  return end < 0 ? "" : path.slice(end);
}

/** A pre-configured proxy by its key, in the header or in the query; else an ephemeral one by its destination. */
function targetOf(key: string | undefined, url: string | undefined, query: string): ProxyTarget | undefined {
  const chosen = key ?? proxyKeyIn(query);
  if (chosen !== undefined) return { kind: "configured", key: chosen };
  return url === undefined ? undefined : { kind: "ephemeral", url };
}

function headerPairs(raw: readonly string[]): HeaderPair[] {
  const pairs: HeaderPair[] = [];
  for (let index = 0; index + 1 < raw.length; index += 2) pairs.push([raw[index] ?? "", raw[index + 1] ?? ""]);
  return pairs;
}

function headerOf(request: IncomingMessage, name: string): string | undefined {
  const value = request.headers[name];
  return Array.isArray(value) ? value[0] : value;
}

/** What a destination says must not stop us from answering: it is checked before the first of it is passed on. */
function requireSendable({ status, headers, destinationStatus }: ProxyAnswer): void {
  try {
    if (status < 200) throw new Error("no final status");
    for (const [name, value] of headers) validateHeaderValue(name, value);
  } catch {
    const fault = new Fault("destination_unreachable", "The destination's answer is not valid HTTP.");
    throw new DestinationFailed(fault, destinationStatus);
  }
}

function writeHead(response: ServerResponse, answer: ProxyAnswer, request: IncomingMessage): void {
  const isHttp1 = request.httpVersionMajor === 1;
  const ours = Object.entries(response.getHeaders()).flatMap(([name, value]): HeaderPair[] => {
    // Where the destination speaks of cross-origin rights itself, its word counts.
    const isTheirs = answer.headers.some(([theirs]) => theirs.toLowerCase() === name);
    return isTheirs || value === undefined ? [] : [[name, String(value)]];
  });
  for (const [name] of ours) response.removeHeader(name);
  const status: HeaderPair[] =
    answer.destinationStatus > 0 ? [[DESTINATION_STATUS, String(answer.destinationStatus)]] : [];
  const length: HeaderPair[] = Buffer.isBuffer(answer.body) ? [["Content-Length", String(answer.body.length)]] : [];
  const theirs = answer.headers.filter(([name]) => length.length === 0 || name.toLowerCase() !== "content-length");
  for (const [name, values] of grouped([...ours, ...theirs, ...length, ...status])) {
    // HTTP/2 knows headers that have one value; there only cookies are sent apart.
    const isApart = isHttp1 || name.toLowerCase() === "set-cookie";
    response.setHeader(name, isApart ? values : values.join(", "));
  }
  // HTTP/2 has no reason phrases.
  if (isHttp1 && REASON_PHRASE.test(answer.statusText)) response.statusMessage = answer.statusText;
  response.writeHead(answer.status);
}

/** Values of one name together, in the spelling of the first. */
function grouped(headers: readonly HeaderPair[]): Map<string, string[]> {
  const spelled = new Map<string, string>();
  const values = new Map<string, string[]>();
  for (const [name, value] of headers) {
    const first = spelled.get(name.toLowerCase()) ?? name;
    spelled.set(name.toLowerCase(), first);
    values.set(first, [...(values.get(first) ?? []), value]);
  }
  return values;
}

interface ShownError {
  readonly status: number;
  readonly body: Json;
  readonly destinationStatus: number | undefined;
  /** For the operator's log. */
  readonly fault: Fault;
}

/** Our own errors, told apart from the destination's by `proxy_error` (api-facts 7.3). */
function errorOf(error: unknown, traceId: string): ShownError {
  if (error instanceof DestinationFailed) {
    return { ...errorOf(error.reason, traceId), destinationStatus: error.destinationStatus };
  }
  if (error instanceof FunctionFailed) {
    const problem = { title: "One or more validation errors occurred.", ...error.toJson() };
    const fault = new Fault("unprocessable", error.detail);
    return { status: error.status, body: { proxy_error: problem }, destinationStatus: undefined, fault };
  }
  const fault = toFault(error);
  const problem = problemOf(fault, traceId);
  const shown = { ...problem, ...(fault.code === "validation_failed" ? { title: "Invalid proxy request" } : {}) };
  const body: Json = { proxy_error: JSON.parse(JSON.stringify(shown)) };
  return { status: FAULT_TABLE[fault.code].http, body, destinationStatus: undefined, fault };
}
