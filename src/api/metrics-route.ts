import type { FastifyInstance } from "fastify";
import type { Registry } from "prom-client";

/** The text of /metrics: a registry, or what several of them make together. */
export type MetricsPage = Pick<Registry, "contentType" | "metrics">;

/** /metrics, for the operator's port alone: it tells how much is done here. */
export function registerMetrics(app: FastifyInstance, page: MetricsPage): void {
  app.get("/metrics", async (_request, reply) => reply.type(page.contentType).send(await page.metrics()));
}
