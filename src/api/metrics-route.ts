import type { FastifyInstance } from "fastify";
import type { Registry } from "prom-client";

/** /metrics, for the operator's port alone: it tells how much is done here. */
export function registerMetrics(app: FastifyInstance, registry: Registry): void {
  app.get("/metrics", async (_request, reply) => reply.type(registry.contentType).send(await registry.metrics()));
}
