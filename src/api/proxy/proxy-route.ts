import type { IncomingMessage, ServerResponse } from "node:http";
import { Http2ServerRequest } from "node:http2";
import { finished } from "node:stream/promises";
import { callerKeyProof } from "../../access/caller.js";
import { Fault } from "../../base/fault.js";
import { joinedHeader } from "../../base/joined-header.js";
import { type HeaderPair, headerPairs } from "../../egress/request-framing.js";
import type { Proof } from "../../memory/request-memory.js";
import type { CallOwner, ProxyCall, ProxyResponse, ProxyTarget } from "../../proxy/call.js";
import { DestinationFailed } from "../../proxy/destination-failed.js";
import { proxyKeyIn } from "../../proxy/forward.js";
import type { BeginRequest } from "../admission/begin-request.js";
import { findRateRefusal } from "../admission/rate-gate.js";
import { isFromBrowser, refuseLoadAsPage } from "../browser/fetch-metadata.js";
import { pipeBody } from "../connection/pipe-body.js";
import { dropUnreadBody } from "../connection/unread-body.js";
import { faultHeaders, PROBLEM_TYPE } from "../faults/problem.js";
import { isCancelled, type Observe } from "../observation/observation.js";
import { parentSpanIn, requestTraceId } from "../observation/trace.js";
import { CallerBody } from "../request/caller-body.js";
import { requestMemory } from "../request/open-memory.js";
import { requestAudit } from "../request/request-audit.js";
import { toProxyError } from "./proxy-problem.js";
import { DESTINATION_STATUS, requireSendable, writeHead } from "./proxy-response.js";

export type InvokeProxy = (call: ProxyCall) => Promise<ProxyResponse>;

const METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"];

/** Handles requests before the framework does. Returns whether the request was one of its own. */
export type ProxyRoute = (request: IncomingMessage, response: ServerResponse) => boolean;

/**
 * Serves /proxy and all paths below. Written by hand, because requests and responses pass in any form: a router would
 * refuse paths that it cannot decode, and invalid content types.
 */
export function createProxyRoute(invoke: InvokeProxy, observe: Observe, begin: BeginRequest): ProxyRoute {
  return (request, response) => {
    const below = pathTaken(request);
    if (below === undefined) return false;
    const answer = async () => {
      await begin(request, response, { template: below === "" ? "/proxy" : "/proxy/*" });
      await serve(invoke, observe, request, response);
    };
    answer().catch(() => breakOff(response, request));
    return true;
  };
}

/** Whether a request belongs to the proxy, whose errors have a form of their own. */
export function isProxied(request: IncomingMessage): boolean {
  return pathTaken(request) !== undefined;
}

function pathTaken(request: IncomingMessage): string | undefined {
  // Preflights have the same response on all paths.
  return request.method === "OPTIONS" ? undefined : pathBelow(passedPath(request));
}

async function serve(
  invoke: InvokeProxy,
  observe: Observe,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const traceId = requestTraceId(request);
  const observation = observe({ rpc: "InvokeProxy", route: "/proxy", traceId, parent: parentSpanIn(request) });
  const gone = new AbortController();
  // Stop if the client disconnected during the rate-limit check.
  if (request.aborted || response.destroyed) gone.abort();
  response.once("close", () => {
    if (!response.writableEnded) gone.abort();
  });
  response.setHeader("bt-trace-id", traceId);
  const body = hasBody(request) ? new CallerBody(request) : Buffer.alloc(0);
  try {
    gone.signal.throwIfAborted();
    const refused = findRateRefusal(request);
    if (refused) throw refused;
    refuseLoadAsPage(request.headers);
    if (!METHODS.includes(request.method ?? "")) {
      response.setHeader("allow", METHODS.join(", "));
      throw new Fault("method_not_allowed", `This path takes ${METHODS.join(", ")}.`);
    }
    const onOwner: ProxyCall["onOwner"] = (owner) => {
      observation.tenantId = owner.tenantId;
      observation.caller = owner.caller;
      requestMemory(request).prove(presentedProof(owner));
    };
    const call = { ...callOf(request, body, gone.signal), onOwner };
    const returned = await call.memory.during(() => invoke(call));
    requireSendable(returned);
    observation.end(returned.status);
    writeHead(response, returned, request);
    if (!Buffer.isBuffer(returned.body)) await pipeBody(returned.body, response, gone.signal);
    else if (!gone.signal.aborted) response.write(returned.body);
    // The destination stopped reading the request early. A client that is still sending may lose the response to a reset.
    if (!Buffer.isBuffer(body) && body.destroyed) await dropUnreadBody(request);
    response.end();
    await leaveReusable(request, body);
  } catch (error) {
    if (response.headersSent) {
      if (!gone.signal.aborted) observation.breakOff(error);
      return breakOff(response, request);
    }
    const shown = toProxyError(error, traceId);
    if (isCancelled(error instanceof DestinationFailed ? error.reason : error, gone.signal))
      observation.cancel("canceled");
    else if (shown.fault) observation.fail(shown.status, shown.fault);
    else observation.failFunction(shown.status, "proxy_error");
    // A body that is not read would block its sender.
    if (!Buffer.isBuffer(body)) body.destroy();
    await sendError(request, response, shown);
  }
}

async function sendError(
  request: IncomingMessage,
  response: ServerResponse,
  { status, body, destinationStatus, fault }: ReturnType<typeof toProxyError>,
): Promise<void> {
  // A client that is still sending may otherwise see the connection reset instead of the response.
  const isAllRead = await dropUnreadBody(request);
  if (destinationStatus !== undefined) response.setHeader(DESTINATION_STATUS, destinationStatus);
  for (const [name, value] of Object.entries(fault ? faultHeaders(fault) : {})) response.setHeader(name, value);
  if (!isAllRead && request.httpVersionMajor === 1) response.setHeader("connection", "close");
  const text = Buffer.from(JSON.stringify(body));
  response.writeHead(status, { "content-type": PROBLEM_TYPE, "content-length": text.length });
  response.end(text);
}

/** Marks a response as incomplete: over HTTP/2 a stream destroyed without an error looks complete. */
function breakOff(response: ServerResponse, { httpVersionMajor }: IncomingMessage): void {
  response.destroy(httpVersionMajor === 1 ? undefined : new Error("The response could not be given to its end."));
}

/** A connection with an unread request cannot serve another. */
async function leaveReusable(request: IncomingMessage, body: CallerBody | Buffer): Promise<void> {
  if (Buffer.isBuffer(body)) return;
  if (!body.destroyed) await finished(body, { writable: false }).catch(() => {});
  const isAllRead = await dropUnreadBody(request);
  if (!isAllRead && request.httpVersionMajor === 1) request.destroy();
}

/** The key of an anonymous proxy is public, so its calls use the small share of unauthenticated callers. */
function presentedProof({ tenantId, keyHolder, proxy }: CallOwner): Proof {
  if (keyHolder) return callerKeyProof(keyHolder);
  return { kind: "address", tenantId, name: `proxy ${proxy?.proxy.id}` };
}

/** Whether a body follows the headers: if its length is unknown, the destination gets one too. */
function hasBody(request: IncomingMessage): boolean {
  if (request instanceof Http2ServerRequest) return !request.stream.endAfterHeaders;
  return request.headers["content-length"] !== undefined || request.headers["transfer-encoding"] !== undefined;
}

function callOf(request: IncomingMessage, body: CallerBody | Buffer, signal: AbortSignal): ProxyCall {
  const query = passedQuery(request);
  return {
    method: request.method ?? "GET",
    path: pathBelow(passedPath(request)) ?? "",
    query,
    headers: passedHeaders(request),
    body,
    apiKey: joinedHeader(request, "bt-api-key"),
    target: targetOf(joinedHeader(request, "bt-proxy-key"), joinedHeader(request, "bt-proxy-url"), query),
    signal,
    memory: requestMemory(request),
    audit: requestAudit(request),
  };
}

/**
 * The headers in their original case and order. A browser adds the cookies of the vault's origin, which the destination
 * must not get. Other clients send the destination's own cookies.
 */
function passedHeaders({ rawHeaders, headers, httpVersionMajor }: IncomingMessage): readonly HeaderPair[] {
  const pairs = headerPairs(rawHeaders);
  if (isFromBrowser(headers)) return pairs.filter(([name]) => name.toLowerCase() !== "cookie");
  return httpVersionMajor === 1 ? pairs : withOneCookie(pairs);
}

/** HTTP/2 may split a cookie; over HTTP/1.1 it must be one header again (RFC 9113, 8.2.3). */
function withOneCookie(pairs: readonly HeaderPair[]): readonly HeaderPair[] {
  const pieces = pairs.filter(isCookie);
  const [first] = pieces;
  if (!first || pieces.length === 1) return pairs;
  const whole: HeaderPair = [first[0], pieces.map(([, value]) => value).join("; ")];
  return pairs.flatMap((pair) => (pair === first ? [whole] : isCookie(pair) ? [] : [pair]));
}

function isCookie([name]: HeaderPair): boolean {
  return name === "cookie";
}

/** The raw path, without the origin that a client in front of a proxy writes before it (RFC 9112, 3.2.2). */
function passedPath({ url = "" }: IncomingMessage): string {
  const path = url.replace(/^https?:\/\/[^/?]*/i, "");
  const mark = path.indexOf("?");
  return mark < 0 ? path : path.slice(0, mark);
}

/** Empty, or with its question mark. */
function passedQuery({ url = "" }: IncomingMessage): string {
  const mark = url.indexOf("?");
  return mark < 0 ? "" : url.slice(mark);
}

/** The part after /proxy, in any spelling (/%70roxy); undefined for all other paths. */
function pathBelow(path: string): string | undefined {
  const end = path.indexOf("/", 1);
  const first = end < 0 ? path : path.slice(0, end);
  if (first.length > MAX_FIRST_SEGMENT || !isProxy(first)) return undefined;
  return end < 0 ? "" : path.slice(end);
}

/** "/proxy" with every letter percent-encoded. */
const MAX_FIRST_SEGMENT = 1 + 5 * 3;

function isProxy(segment: string): boolean {
  if (!segment.includes("%")) return segment === "/proxy";
  return /^(?:[a-z/]|%[0-7][0-9a-f])+$/i.test(segment) && decodeURIComponent(segment) === "/proxy";
}

/** The proxy with this key, from the header or the query; otherwise an ephemeral one by its destination. */
function targetOf(key: string | undefined, url: string | undefined, query: string): ProxyTarget | undefined {
  const chosen = key ?? proxyKeyIn(query);
  if (chosen !== undefined) return { kind: "configured", key: chosen };
  return url === undefined ? undefined : { kind: "ephemeral", url };
}
