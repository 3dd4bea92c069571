import type { IncomingMessage } from "node:http";
import {
  Code,
  ConnectError,
  type ConnectRouter,
  type ConnectRouterOptions,
  type ServiceImpl,
} from "@connectrpc/connect";
import type { FastifyInstance } from "fastify";
import { Health, HealthCheckResponse_ServingStatus as Status } from "../../gen/health/v1/health_pb.js";

/** What must be well for requests to be sent here. */
export interface Readiness {
  /** The name of each check, and why it fails, or undefined when it is well. */
  check(): Promise<Readonly<Record<string, string | undefined>>>;
  /** Aborted when the server stops taking requests. */
  readonly draining: AbortSignal;
}

/** Of health and reflection, which ask for no key: a name is all that they are asked. */
export const QUESTION_LIMITS = { readMaxBytes: 16 * 1024 };

/** Whether a request asks for nothing but how the server is: it is answered while the server stops, or is sealed. */
export function isHealthCheck({ url = "" }: Pick<IncomingMessage, "url">): boolean {
  return /^\/(?:healthz|readyz)\/?(?:\?|$)/.test(url) || url.startsWith(`/${Health.typeName}/`);
}

/** /healthz: this process answers. /readyz: it can serve; while it drains or a check fails, 503. */
export function registerHealth(app: FastifyInstance, readiness: Readiness): void {
  const uncounted = { config: { rateScope: "uncounted" } } as const;
  app.get("/healthz", uncounted, (_request, reply) => reply.send({ status: "ok" }));
  app.get("/readyz", uncounted, async (_request, reply) => {
    const checks = await readiness.check();
    const isReady = Object.values(checks).every((problem) => problem === undefined);
    const shown = Object.fromEntries(Object.entries(checks).map(([name, problem]) => [name, problem ?? "ok"]));
    return reply.code(isReady ? 200 : 503).send({ status: isReady ? "ready" : "not ready", checks: shown });
  });
}

/** gRPC health checking: the empty service name stands for the whole server. */
export function registerRpcHealth(
  router: ConnectRouter,
  names: readonly string[],
  readiness: Readiness,
  limits: ConnectRouterOptions,
): void {
  const statusOf = async () =>
    Object.values(await readiness.check()).every((problem) => problem === undefined)
      ? Status.SERVING
      : Status.NOT_SERVING;
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
        // A watch would hold its connection, and with it the stop of the server.
        if (readiness.draining.aborted) return;
        await aborted(AbortSignal.any([signal, readiness.draining]), 1_000);
      }
    },
  };
  router.service(Health, health, limits);
}

function aborted(signal: AbortSignal, milliseconds: number): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, milliseconds);
    signal.addEventListener("abort", end);
  });
}
