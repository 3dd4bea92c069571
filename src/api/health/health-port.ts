import type { RequestListener } from "node:http";
import Fastify from "fastify";
import { createRpcPort, KEYLESS_RPC_LIMITS } from "../rpc/rpc-port.js";
import { type Readiness, registerHealth, registerRpcHealth } from "./health.js";

/** Serves health checks alone, for a server that cannot serve more yet. */
export interface HealthPort extends AsyncDisposable {
  readonly listener: RequestListener;
}

/** @param services the names of the services that the server will have. */
export async function createHealthPort(services: readonly string[], readiness: Readiness): Promise<HealthPort> {
  const app = Fastify({ logger: false });
  registerHealth(app, readiness);
  await app.ready();
  const rpc = createRpcPort(
    { routes: (router) => registerRpcHealth(router, services, readiness, KEYLESS_RPC_LIMITS) },
    async () => {},
    new Map(),
  );
  return {
    listener(request, response) {
      if (!rpc(request, response)) app.routing(request, response);
    },
    [Symbol.asyncDispose]: () => app.close(),
  };
}
