import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { DescMethod, DescService } from "@bufbuild/protobuf";
import { fastifyConnectPlugin } from "@connectrpc/connect-fastify";
import Fastify, { type FastifyInstance } from "fastify";
import { ServerReflection } from "../../gen/grpc/reflection/v1/reflection_pb.js";
import { ServerReflection as ServerReflectionAlpha } from "../../gen/grpc/reflection/v1alpha/reflection_pb.js";
import { Health } from "../../gen/health/v1/health_pb.js";
import { Fault } from "../base/fault.js";
import type { MemoryBudget } from "../memory/memory-budget.js";
import type { Meters } from "../telemetry/meters.js";
import { admitRequest } from "./admit-request.js";
import { ambiguityOf } from "./ambiguous-request.js";
import type { ReadClient } from "./client-address.js";
import { createCors } from "./cors.js";
import { isHealthCheck, QUESTION_LIMITS, type Readiness, registerHealth, registerRpcHealth } from "./health.js";
import { InFlight } from "./in-flight.js";
import { createLoadShedder, type Overload, summed } from "./load-shedder.js";
import { openMemory } from "./memory-of.js";
import { observeInto, toFault } from "./observation.js";
import { CONNECTION_LIMITS, createOnePort } from "./one-port.js";
import type { OperatorLog } from "./operator-log.js";
import type { Pipeline } from "./pipeline.js";
import { createProxyRoute, type InvokeProxy } from "./proxy-route.js";
import { type RateGate, type RouteScope, rateRefusalOf, rateScopeOf } from "./rate-gate.js";
import { registerReflection } from "./reflection.js";
import { refuseRequest } from "./refuse-request.js";
import { registerRest, sendFault } from "./rest/rest-routes.js";
import { makeAddressReadable } from "./rpc-address.js";
import { rpcOptions } from "./rpc-routes.js";
import { traceOf } from "./trace.js";
import { createUnaryFastPath } from "./unary-fast-path/unary-fast-path.js";
import { dropUnreadBody } from "./unread-body.js";

export interface ServerOptions {
  /** Every service of the API, including partly implemented ones. */
  readonly services: readonly DescService[];
  readonly pipelines: readonly Pipeline[];
  readonly invokeProxy: InvokeProxy;
  readonly readiness: Readiness;
  readonly log: OperatorLog;
  readonly corsOrigins: readonly string[];
  readonly bodyLimit: number;
  readonly memory: MemoryBudget;
  readonly readClient: ReadClient;
  readonly requestTimeout: number;
  readonly overload: Overload;
  readonly rateGate: RateGate;
  readonly meters: Meters;
  /** Whether unary calls take the fast path. */
  readonly rpcFastPath: boolean;
  readonly tls: { readonly cert: Buffer; readonly key: Buffer } | undefined;
  /** Routes that belong to no method: documentation pages, the raw proxy. */
  readonly extend?: (app: FastifyInstance) => void | Promise<void>;
}

export interface ApiServer {
  listen(host: string, port: number): Promise<AddressInfo>;
  /**
   * Accepts no more connections, lets requests in flight finish for up to `graceMs`, and closes. Requests over open
   * connections are refused once `readiness.draining` is aborted.
   */
  close(graceMs: number): Promise<void>;
}

/**
 * Backlog of connections, at Linux's default limit (net.core.somaxconn). Further ones are dropped silently: their
 * clients retry after 1, 3, 7 and 15 s.
 */
const WAITING_CONNECTIONS = 4_096;

/** Interval in milliseconds at which the operator's log says what a stop waits for. */
const TELL_EVERY_MS = 5_000;

const STOPPING = new Fault("unavailable", "This server is stopping. Send the request again, over a new connection.", {
  retryAfter: 1,
});

/** One port for REST, gRPC, gRPC-Web and Connect. */
export async function createApiServer(options: ServerOptions): Promise<ApiServer> {
  const app = Fastify({
    logger: false,
    exposeHeadRoutes: true,
    routerOptions: { ignoreTrailingSlash: true, maxParamLength: 3 * 400 },
    // For a path that the router cannot read: broken percent-encoding, or longer than any id. Hooks do not run for it.
    frameworkErrors: (_error, { raw }, reply) => {
      begin(raw, reply.raw, undefined)
        .then(() => rateRefusalOf(raw) ?? new Fault("malformed_body", "The path could not be read."))
        .then((fault) => sendFault(reply, fault, traceOf(raw)))
        .catch(() => reply.raw.destroy());
    },
  });
  const cors = createCors(options.corsOrigins);
  const observe = observeInto(options.log, options.meters.operation);
  const shutdown = new AbortController();
  const inFlight = new InFlight();
  const rpcScopes = rpcScopesOf(options.services);
  const rpcLimits = { messageBytes: options.bodyLimit, timeoutMs: options.requestTimeout };

  const admit = (request: IncomingMessage, response: ServerResponse) => admitRequest(cors, request, response);

  // Handlers read bodies, after authentication.
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("*", (_request, _payload, done) => done(null));
  app.addHook("onRequest", (request, reply, done) => {
    inFlight.route(reply.raw, request.method, request.routeOptions.url);
    admit(request.raw, reply.raw);
    if (request.method !== "OPTIONS") return done();
    reply.hijack();
    cors.answerPreflight(request.raw, reply.raw);
  });
  app.addHook("onRequest", async (request, reply) => {
    const { url = "", config } = request.routeOptions;
    const refused = await options.rateGate.pass(request.raw, reply.raw, config.rateScope ?? rpcScopes.get(url));
    if (rpcScopes.has(url)) return makeAddressReadable(request.raw, url);
    if (!refused) return;
    return sendFault(reply, refused, traceOf(request.raw));
  });
  app.addHook("onResponse", (request, reply, done) => {
    const { method, routeOptions } = request;
    options.meters.request(method, routeOptions.url, reply.raw.statusCode, reply.elapsedTime / 1_000);
    done();
  });
  app.addHook("onSend", (request, reply, _payload, done) => {
    if (request.raw.complete) return done();
    dropUnreadBody(request.raw).then((isAllRead) => {
      if (!isAllRead && request.raw.httpVersionMajor === 1) reply.header("connection", "close");
      done();
    }, done);
  });
  app.setErrorHandler((error, request, reply) => {
    const isOurs = error instanceof Fault || statusOf(error) >= 500;
    return sendFault(reply, isOurs ? toFault(error) : unreadable(statusOf(error)), traceOf(request.raw));
  });
  registerHealth(app, options.readiness);
  await options.extend?.(app);
  registerRest(app, options.pipelines, options.bodyLimit, observe);
  const names = options.services.map(({ typeName }) => typeName);
  const rpc = rpcOptions(
    options.services,
    options.pipelines,
    (router) => {
      registerReflection(router, options.services, QUESTION_LIMITS);
      registerRpcHealth(router, names, options.readiness, QUESTION_LIMITS);
    },
    rpcLimits,
    observe,
  );
  await app.register(fastifyConnectPlugin, { ...rpc, shutdownSignal: shutdown.signal });
  await app.ready();
  /**
   * The steps that the framework takes for its requests, for those that bypass it. A request without a template matches
   * no path.
   */
  const begin = async (request: IncomingMessage, response: ServerResponse, template: string | undefined) => {
    const { method = "" } = request;
    inFlight.route(response, method, template);
    admit(request, response);
    const start = performance.now();
    // Also emitted for responses that their callers did not wait for.
    response.once("close", () => {
      options.meters.request(method, template, response.statusCode, (performance.now() - start) / 1_000);
    });
    await options.rateGate.pass(request, response, template === undefined ? undefined : rpcScopes.get(template));
  };
  const fastPath = options.rpcFastPath
    ? createUnaryFastPath(options.pipelines, rpcLimits, observe, begin)
    : () => false;
  const proxy = createProxyRoute(options.invokeProxy, observe, begin);
  const turnedAway = summed((times) =>
    options.log.warn({ reason: `${times} requests` }, "overloaded: excess requests refused"),
  );
  const shed = createLoadShedder(options.overload, admit, () => {
    options.meters.turnedAway();
    turnedAway();
  });
  /** Answers with a fault before the router sees the request, and closes its connection. */
  const refuse = (request: IncomingMessage, response: ServerResponse, fault: Fault) => {
    const traceId = admit(request, response);
    response.shouldKeepAlive = false;
    // A client that is still sending when its connection is closed loses the answer.
    void dropUnreadBody(request).then(() => refuseRequest(request, response, fault, traceId));
  };
  const listener = (request: IncomingMessage, response: ServerResponse) => {
    const ambiguity = ambiguityOf(request);
    if (ambiguity) return refuse(request, response, new Fault("malformed_body", ambiguity));
    if (options.readiness.draining.aborted && !isHealthCheck(request)) return refuse(request, response, STOPPING);
    inFlight.begin(response);
    if (shed(request, response)) return;
    openMemory(options.memory, options.readClient, request, response);
    if (!fastPath(request, response) && !proxy(request, response)) app.routing(request, response);
  };
  const port = createOnePort(listener, CONNECTION_LIMITS, options.tls);

  return {
    async listen(host, portNumber) {
      port.server.listen({ host, port: portNumber, backlog: WAITING_CONNECTIONS });
      await once(port.server, "listening");
      const address = port.server.address();
      if (address === null || typeof address === "string") throw new Error("the server listens on no port");
      return address;
    },
    async close(graceMs) {
      const waiting = setInterval(() => {
        options.log.info({ reason: inFlight.summary() }, "stopping: requests are in flight");
      }, TELL_EVERY_MS);
      const end = setTimeout(() => {
        if (inFlight.count > 0) options.log.warn({ reason: inFlight.summary() }, "stopping: requests were cut off");
        shutdown.abort();
        port.destroy();
      }, graceMs);
      await port.drain();
      clearInterval(waiting);
      clearTimeout(end);
      await app.close();
    },
  };
}

/** Rate-limit scope per RPC path; health checks are exempt. */
function rpcScopesOf(services: readonly DescService[]): ReadonlyMap<string, RouteScope> {
  const methods = [...services, ServerReflection, ServerReflectionAlpha].flatMap((service) => service.methods);
  const pathOf = ({ parent, name }: DescMethod) => `/${parent.typeName}/${name}`;
  return new Map([
    ...methods.map((method): [string, RouteScope] => [pathOf(method), rateScopeOf(method)]),
    ...Health.methods.map((method): [string, RouteScope] => [pathOf(method), "uncounted"]),
  ]);
}

/** Requests that Fastify rejects before a handler sees them, mostly for an invalid content type. */
function unreadable(status: number): Fault {
  return status === 415
    ? new Fault("unsupported_media_type", "The Content-Type could not be read.")
    : new Fault("malformed_body", "The request could not be read.");
}

function statusOf(error: unknown): number {
  return error instanceof Error && "statusCode" in error && typeof error.statusCode === "number"
    ? error.statusCode
    : 500;
}
