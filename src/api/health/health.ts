import type { IncomingMessage } from "node:http";
import { setTimeout as pause } from "node:timers/promises";
import {
  Code,
  ConnectError,
  type ConnectRouter,
  type ConnectRouterOptions,
  type ServiceImpl,
} from "@connectrpc/connect";
import type { FastifyInstance } from "fastify";
import { Health, HealthCheckResponse_ServingStatus as Status } from "../../../gen/health/v1/health_pb.js";

export interface ReadinessReport {
  /** The name of each check with its failure, or undefined if it passes. */
  readonly checks: Readonly<Record<string, string | undefined>>;
  /** Failures for some tenants only, which do not affect readiness. */
  readonly warnings: readonly string[];
}

export interface Readiness {
  check(): Promise<ReadinessReport>;
  /** Aborted when the server stops taking requests. */
  readonly draining: AbortSignal;
}

/** Whether a request is a health check, which is answered even while the server stops or is sealed. */
export function isHealthCheck({ url = "" }: Pick<IncomingMessage, "url">): boolean {
  return /^\/(?:healthz|readyz)\/?(?:\?|$)/.test(url) || url.startsWith(`/${Health.typeName}/`);
}

/** /healthz: this process responds. /readyz: it can serve; 503 while it drains or a check fails. */
export function registerHealth(app: FastifyInstance, readiness: Readiness): void {
  const uncounted = { config: { rateScope: "uncounted" } } as const;
  app.get("/healthz", uncounted, (_request, reply) => reply.send({ status: "ok" }));
  app.get("/readyz", uncounted, async (_request, reply) => {
    const report = await readiness.check();
    const ready = isReady(report);
    const checks = Object.fromEntries(Object.entries(report.checks).map(([name, problem]) => [name, problem ?? "ok"]));
    const warnings = report.warnings.length > 0 ? { warnings: report.warnings } : {};
    return reply.code(ready ? 200 : 503).send({ status: ready ? "ready" : "not ready", checks, ...warnings });
  });
}

function isReady({ checks }: ReadinessReport): boolean {
  return Object.values(checks).every((problem) => problem === undefined);
}

/** gRPC health checking: the empty service name means the whole server. */
export function registerRpcHealth(
  router: ConnectRouter,
  names: readonly string[],
  readiness: Readiness,
  limits: ConnectRouterOptions,
): void {
  const statusOf = async () => (isReady(await readiness.check()) ? Status.SERVING : Status.NOT_SERVING);
  const requireKnown = (service: string) => {
    if (service !== "" && !names.includes(service)) throw new ConnectError("there is no such service", Code.NotFound);
  };
  const health: Partial<ServiceImpl<typeof Health>> = {
    async check({ service }) {
      requireKnown(service);
      return { status: await statusOf() };
    },
    async *watch({ service }, { signal }) {
      let last: Status | undefined;
      while (!signal.aborted) {
        const status = service === "" || names.includes(service) ? await statusOf() : Status.SERVICE_UNKNOWN;
        if (status !== last) yield { status };
        last = status;
        // A watch would hold its connection, and delay the stop of the server.
        if (readiness.draining.aborted) return;
        await pause(1_000, undefined, { signal: AbortSignal.any([signal, readiness.draining]) }).catch(() => {});
      }
    },
  };
  router.service(Health, health, limits);
}
