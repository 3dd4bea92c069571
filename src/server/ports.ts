import type { RateGate } from "../api/admission/rate-gate.js";
import { TurnGate } from "../api/arrival/turn-gate.js";
import { addressReader, clientReader, networkReader, proxyCheck } from "../api/connection/client-address.js";
import type { ServerCertificate } from "../api/connection/server-certificate.js";
import type { Readiness } from "../api/health/health.js";
import { observeInto } from "../api/observation/observation.js";
import type { OperatorLog } from "../api/observation/operator-log.js";
import { type ApiServer, createApiServer } from "../api/server.js";
import { registerConsole } from "../api/web/console-page.js";
import { registerDocs } from "../api/web/docs.js";
import { registerElements } from "../api/web/elements-routes.js";
import { registerInvitationPage } from "../api/web/invitation-page.js";
import { registerOpenIdPage } from "../api/web/openid-page.js";
import { registerPaymentRoutes } from "../api/web/payment-routes.js";
import { registerWebAssets } from "../api/web/web-assets.js";
import { readWebBuild } from "../api/web/web-build.js";
import { registerWebhookRoutes } from "../api/web/webhook-routes.js";
import { readBuildVersion } from "../base/build-version.js";
import type { Clock } from "../base/clock.js";
import type { Config } from "../settings/config.js";
import { readWatchedDates } from "../store/audit/watched-dates.js";
import { gaugeDatabase } from "../telemetry/database-gauges.js";
import { gaugeEventLoop } from "../telemetry/event-loop.js";
import { gaugeMemory } from "../telemetry/memory-gauges.js";
import type { Meters } from "../telemetry/meters.js";
import { gaugeSandbox } from "../telemetry/sandbox-gauges.js";
import { gaugeBuild, gaugeCertificate, gaugeDates } from "../telemetry/vault-gauges.js";
import type { Vault } from "../vault/vault.js";
import { openAdminPort } from "./admin-port.js";
import type { Composition } from "./composition.js";
import { listenAt } from "./listening.js";
import { configuredRateGate, type RateCounters } from "./rate-limiting.js";
import type { ServingProcess } from "./running-server.js";
import { SERVICES } from "./served-services.js";
import { type Part, REQUEST_GRACE_MS } from "./shutdown.js";

export interface PortParts {
  readonly config: Config;
  readonly vault: Vault;
  readonly clock: Clock;
  readonly log: OperatorLog;
  readonly meters: Meters;
  readonly tls: ServerCertificate | undefined;
  readonly readiness: Readiness;
  readonly parts: Composition;
  readonly counters: RateCounters;
  /** Absent: this process alone is the server, with its own admin port. */
  readonly part: ServingProcess | undefined;
  /** Registers a part to end when the server stops, in reverse order. */
  readonly endLater: (name: Part, end: () => Promise<unknown>) => void;
}

export interface Ports {
  /** The address of the API port, without a slash at the end. */
  readonly url: string;
  /** Absent in one of several processes. */
  readonly adminUrl: string | undefined;
  /** Closes the API port. Open connections are still served. */
  stopListening(): Promise<void>;
}

/** Opens the API port, then the admin port. @throws {ConfigError} when an address cannot be listened on. */
export async function openPorts(given: PortParts): Promise<Ports> {
  const { config, counters, meters, readiness, part, endLater } = given;
  const server = await apiServer(given, configuredRateGate(counters.requests, config, meters));
  const eventLoop = gauge(given);
  const admin = part ? undefined : openAdminPort(config, readiness, meters.registry);
  if (admin) endLater("the admin port", admin.close);
  const { port } = await listenAt("", config, () => server.listen(config.host, config.port));
  endLater("requests in flight", () => server.close(REQUEST_GRACE_MS).finally(() => eventLoop[Symbol.dispose]()));
  const adminUrl = await admin?.listen();
  const scheme = config.tlsCertFile ? "https" : "http";
  const host = config.host.includes(":") ? `[${config.host}]` : config.host;
  return { url: `${scheme}://${host}:${port}`, adminUrl, stopListening: server.stopListening };
}

function apiServer({ config, log, meters, tls, readiness, parts }: PortParts, rateGate: RateGate): Promise<ApiServer> {
  const { corsOrigins, bodyLimit, rpcFastPath } = config;
  const { pipelines, streams, invokeProxy, overload, memory } = parts;
  const readClient = clientReader(config.trustedProxies);
  return createApiServer({
    services: SERVICES,
    pipelines,
    streams,
    invokeProxy,
    overload,
    corsOrigins,
    bodyLimit,
    rpcFastPath,
    readiness,
    log,
    meters,
    memory,
    rateGate,
    tls,
    readClient,
    readNetwork: networkReader(config.trustedProxies),
    isProxy: proxyCheck(config.trustedProxies),
    turnGate: new TurnGate(parts.callers, networkReader(config.trustedProxies)),
    readAddress: addressReader(config.trustedProxies, config.auditClientAddresses),
    visits: parts.people.visits,
    async extend(app) {
      const web = readWebBuild();
      registerWebAssets(app, web);
      await registerDocs(app);
      const { incoming, approvals, challenges } = parts.payments;
      registerPaymentRoutes(app, { incoming, approvals, challenges }, observeInto(log, meters.operation));
      registerWebhookRoutes(app, () => parts.webhookKey.publicKeyPem());
      registerConsole(app, web);
      const observe = observeInto(log, meters.operation);
      registerElements(app, { build: web, passes: parts.framePasses, readClient, observe });
      registerInvitationPage(app, parts.invitations, observeInto(log, meters.operation));
      registerOpenIdPage(app, parts.people, observeInto(log, meters.operation));
    },
  });
}

/** Adds the measurements taken when metrics are read. Returns the one that samples. */
function gauge({ vault, clock, meters, parts, tls }: PortParts): Disposable {
  gaugeBuild(meters.registry, readBuildVersion());
  gaugeCertificate(meters.registry, tls);
  gaugeDates(
    meters.registry,
    () => readWatchedDates(vault.database),
    () => clock.now(),
  );
  gaugeMemory(meters.registry, parts.memory);
  gaugeDatabase(meters.registry, vault.database, () => clock.now());
  gaugeSandbox(meters.registry, parts.sandbox);
  return gaugeEventLoop(meters.registry);
}
