import type { FastifyInstance } from "fastify";
import type { Registry } from "prom-client";

/** The text of /metrics: one registry, or an aggregate of several. */
export type MetricsPage = Pick<Registry, "contentType" | "metrics">;

/** /metrics, only on the operator's port, because it reveals the load. */
export function registerMetrics(app: FastifyInstance, page: MetricsPage): void {
  app.get("/metrics", async (_request, reply) => reply.type(page.contentType).send(await page.metrics()));
}
