import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import { runFor } from "../../base/caller-turns.js";
import { Fault } from "../../base/fault.js";
import { findAmbiguity } from "../connection/ambiguous-request.js";
import { CONNECTION_LIMITS } from "../connection/connection-limits.js";
import { hasExcessHeaders, headersTooLarge } from "../connection/excess-headers.js";
import type { ArrivedRequest, OpenResponse, WholeResponse } from "../connection/exchange.js";
import type { StreamListener } from "../connection/multi-protocol-server.js";
import { StreamRequest, StreamResponse } from "../connection/stream-exchange.js";
import { dropUnreadBody } from "../connection/unread-body.js";
import { isHealthCheck } from "../health/health.js";
import { oncePerSecond } from "../observation/once-per-second.js";
import type { ProxyRoute } from "../proxy/proxy-route.js";
import { openMemory } from "../request/open-memory.js";
import { openAudit } from "../request/request-audit.js";
import type { RestPort } from "../rest/rest-port.js";
import type { RpcPort } from "../rpc/rpc-port.js";
import { isGrpc } from "../rpc/unary-fast-path/grpc-wire.js";
import type { UnaryFastPath } from "../rpc/unary-fast-path/unary-fast-path.js";
import { createLoadShedder } from "./load-shedder.js";
import { refuseRequest } from "./refuse-request.js";
import type { RequestEdge } from "./request-edge.js";
import type { ServerOptions } from "./server-options.js";

interface Listener {
  readonly request: RequestListener;
  readonly stream: StreamListener;
}

const STOPPING = new Fault("unavailable", "This server is stopping. Send the request again, over a new connection.", {
  retryAfter: 1,
});

const TOO_LARGE = headersTooLarge(CONNECTION_LIMITS);

const UNKNOWN_EXPECTATION = new Fault(
  "expectation_failed",
  "Unsupported Expect header; only 100-continue is supported.",
);

/** As Node decides before it asks for the body. RFC 9110, 10.1.1: HTTP/1.0 has no expectations. */
function hasUnknownExpectation({ headers: { expect }, httpVersion }: IncomingMessage): boolean {
  return expect !== undefined && httpVersion !== "1.0" && !/(?:^|\W)100-continue(?:$|\W)/i.test(expect);
}

/** Why the request is refused and its connection closed. Undefined: it is served. */
function faultOfConnection(request: IncomingMessage, draining: AbortSignal): Fault | undefined {
  const ambiguity = findAmbiguity(request);
  if (ambiguity) return new Fault("malformed_body", ambiguity);
  if (hasExcessHeaders(request, CONNECTION_LIMITS)) return TOO_LARGE;
  return draining.aborted && !isHealthCheck(request) ? STOPPING : undefined;
}

function refuseAndClose(request: IncomingMessage, response: ServerResponse, fault: Fault, edge: RequestEdge): void {
  const traceId = edge.prepare(request, response);
  response.shouldKeepAlive = false;
  // A client that is still sending when its connection is closed loses the response.
  void dropUnreadBody(request).then(() => refuseRequest(request, response, fault, traceId));
}

/** What serves requests: the first that takes one, in this order. */
export interface RequestWays {
  readonly call: UnaryFastPath;
  readonly proxy: ProxyRoute;
  readonly rest: RestPort;
  /** What the fast path leaves: streams, and messages that are compressed or malformed. */
  readonly rpc: RpcPort;
  readonly framework: RequestListener;
}

/** Refuses ambiguous and surplus requests, and sends each other request its way. */
export function createListener(options: ServerOptions, edge: RequestEdge, ways: RequestWays): Listener {
  const { turnGate } = options;
  const shed = loadShedderOf(options, edge);
  const open = (request: ArrivedRequest, response: OpenResponse & Pick<WholeResponse, "writableEnded">) => {
    openMemory(options, request, response);
    openAudit(options.readAddress, request);
  };
  return {
    request(request, response) {
      const fault = faultOfConnection(request, options.readiness.draining);
      const caller = turnGate.callerOf(request);
      if (fault) return runFor(caller, () => refuseAndClose(request, response, fault, edge));
      if (hasUnknownExpectation(request)) {
        return refuseRequest(request, response, UNKNOWN_EXPECTATION, edge.prepare(request, response));
      }
      edge.inFlight.begin(response);
      // A busy server is not a dead one.
      const isProbe = isHealthCheck(request);
      if (!isProbe && shed(request, response, caller)) return;
      open(request, response);
      const route = () => {
        const serve = ways.call(request);
        if (serve) return serve(response);
        const isServed = ways.proxy(request, response) || ways.rest(request, response) || ways.rpc(request, response);
        if (!isServed) ways.framework(request, response);
      };
      if (isProbe) route();
      else turnGate.enter(caller, response, route);
    },
    stream(stream, headers, rawHeaders) {
      if (!isGrpc(headers) || headers.expect !== undefined || options.readiness.draining.aborted) return false;
      const request = new StreamRequest(stream, headers, rawHeaders);
      if (findAmbiguity(request) || hasExcessHeaders(request, CONNECTION_LIMITS)) return false;
      const serve = ways.call(request);
      const caller = turnGate.callerOf(request);
      // The listener of requests refuses what has no place.
      if (!serve || !turnGate.hasSlot(caller)) return false;
      const response = new StreamResponse(stream);
      edge.inFlight.begin(response);
      open(request, response);
      turnGate.enter(caller, response, () => serve(response));
      return true;
    },
  };
}

function loadShedderOf(
  { overload, turnGate, log, meters }: ServerOptions,
  { prepare }: RequestEdge,
): ReturnType<typeof createLoadShedder> {
  const reportShed = oncePerSecond((times) =>
    log.warn({ reason: `${times} requests` }, "overloaded: excess requests refused"),
  );
  return createLoadShedder(overload, turnGate, prepare, () => {
    meters.requestShed();
    reportShed();
  });
}
