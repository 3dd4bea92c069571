import Fastify from "fastify";
import { type Readiness, registerHealth } from "../api/health/health.js";
import { type MetricsPage, registerMetrics } from "../api/health/metrics-route.js";
import { admitOperatorsOnly } from "../api/health/operators-only.js";
import type { Config } from "../settings/config.js";
import { listenAt } from "./listening.js";

/** The operator's port: health, readiness and metrics. */
export interface AdminPort {
  /** @returns its address, without a slash at the end. @throws {ConfigError} when the address cannot be listened on. */
  readonly listen: () => Promise<string>;
  readonly close: () => Promise<void>;
}

export function openAdminPort(config: Config, readiness: Readiness, metrics: MetricsPage): AdminPort {
  const app = Fastify({ logger: false });
  admitOperatorsOnly(app, [config.adminHost, ...config.adminNames]);
  registerHealth(app, readiness);
  registerMetrics(app, metrics);
  const address = { host: config.adminHost, port: config.adminPort };
  return {
    listen: () => listenAt("ADMIN_", address, () => app.listen(address)),
    close: async () => {
      await app.close();
    },
  };
}
