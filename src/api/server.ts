import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { createApp } from "./app.js";
import { createListener } from "./arrival/listener.js";
import { createRequestEdge } from "./arrival/request-edge.js";
import type { ServerOptions } from "./arrival/server-options.js";
import { CONNECTION_LIMITS } from "./connection/connection-limits.js";
import type { InFlight } from "./connection/in-flight.js";
import { createMultiProtocolServer, type MultiProtocolServer } from "./connection/multi-protocol-server.js";
import { registerHealth, registerRpcHealth } from "./health/health.js";
import { type Observe, observeInto } from "./observation/observation.js";
import { compileRulesLater } from "./pipeline/validation.js";
import { createProxyRoute } from "./proxy/proxy-route.js";
import { createRestPort } from "./rest/rest-port.js";
import { listRestRoutes } from "./rest/rest-route.js";
import { registerReflection } from "./rpc/reflection.js";
import type { RpcLimits } from "./rpc/rpc-call.js";
import { createRpcPort, KEYLESS_RPC_LIMITS, type RpcOptions } from "./rpc/rpc-port.js";
import { rpcOptions } from "./rpc/rpc-routes.js";
import { createUnaryFastPath } from "./rpc/unary-fast-path/unary-fast-path.js";

export interface ApiServer {
  listen(host: string, port: number): Promise<AddressInfo>;
  stopListening(): Promise<void>;
  /**
   * Stops listening, lets requests in flight finish for up to `graceMs`, and closes. Requests over open
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

/** The longest deadline that an RPC call can set. A call that sets none gets none: methods bound their own waits. */
const MAX_DEADLINE_MS = 30_000;

/** One port for REST, gRPC, gRPC-Web and Connect. */
export async function createApiServer(options: ServerOptions): Promise<ApiServer> {
  const { log, meters } = options;
  const edge = createRequestEdge(options);
  const app = createApp(options, edge);
  const observe = observeInto(log, meters.operation);
  const rpcLimits = { messageBytes: options.bodyLimit, maxDeadlineMs: MAX_DEADLINE_MS };
  const shutdown = new AbortController();
  const closing = new AbortController();
  registerHealth(app, options.readiness);
  await options.extend?.(app);
  await app.ready();
  const { begin } = edge;
  const { pipelines, visits, rpcFastPath } = options;
  const listener = createListener(options, edge, {
    call: rpcFastPath ? createUnaryFastPath(pipelines, rpcLimits, { observe, visits, begin }) : () => undefined,
    proxy: createProxyRoute(options.invokeProxy, observe, begin),
    rpc: createRpcPort(
      rpcOptionsOf(options, { limits: rpcLimits, observe, shutdownSignal: shutdown.signal }),
      begin,
      edge.rpcScopes,
    ),
    rest: createRestPort(listRestRoutes(pipelines, options.bodyLimit), begin, observe),
    framework: app.routing,
  });
  const port = createMultiProtocolServer(
    listener.request,
    { ...CONNECTION_LIMITS, isProxy: options.isProxy },
    options.tls,
    listener.stream,
  );
  return {
    async listen(host, portNumber) {
      port.server.listen({ host, port: portNumber, backlog: WAITING_CONNECTIONS });
      await once(port.server, "listening");
      const address = port.server.address();
      if (address === null || typeof address === "string") throw new Error("the server listens on no port");
      const inputs = options.pipelines.map(({ method }) => method.desc.input);
      compileRulesLater(inputs, closing.signal);
      return address;
    },
    stopListening: port.stopListening,
    async close(graceMs) {
      closing.abort();
      await drain(port, edge.inFlight, graceMs, {
        onWait: (reason) => log.info({ reason }, "stopping: requests are in flight"),
        onCutOff(reason) {
          if (reason !== undefined) log.warn({ reason }, "stopping: requests were cut off");
          shutdown.abort();
        },
      });
      await app.close();
    },
  };
}

interface Rpc {
  readonly limits: RpcLimits;
  readonly observe: Observe;
  /** Ends streams. */
  readonly shutdownSignal: AbortSignal;
}

/** The methods of all services, with reflection and health. */
function rpcOptionsOf(
  { services, pipelines, streams, readiness, visits }: ServerOptions,
  { limits, observe, shutdownSignal }: Rpc,
): RpcOptions {
  const names = services.map(({ typeName }) => typeName);
  const rpc = rpcOptions(
    services,
    pipelines,
    { pipelines: streams, draining: readiness.draining },
    {
      limits,
      observe,
      visits,
      others(router) {
        registerReflection(router, services, KEYLESS_RPC_LIMITS);
        registerRpcHealth(router, names, readiness, KEYLESS_RPC_LIMITS);
      },
    },
  );
  return { ...rpc, shutdownSignal };
}

interface DrainEvents {
  /** @param requests those in flight. */
  onWait(requests: string): void;
  /** @param requests those that are cut off, if there are any. */
  onCutOff(requests: string | undefined): void;
}

/** Waits up to `graceMs` for requests in flight, then cuts them off. */
async function drain(
  port: MultiProtocolServer,
  inFlight: InFlight,
  graceMs: number,
  { onWait, onCutOff }: DrainEvents,
): Promise<void> {
  const waiting = setInterval(() => onWait(inFlight.summary()), TELL_EVERY_MS);
  const end = setTimeout(() => {
    onCutOff(inFlight.count > 0 ? inFlight.summary() : undefined);
    port.destroy();
  }, graceMs);
  await port.drain();
  clearInterval(waiting);
  clearTimeout(end);
}
