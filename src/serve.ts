import type { DescService } from "@bufbuild/protobuf";
import Fastify from "fastify";
import { ApplicationKeyService, ApplicationService, PermissionService } from "../gen/cloakroom/v1/applications_pb.js";
import { ConnectionService } from "../gen/cloakroom/v1/connections_pb.js";
import { InvitationService } from "../gen/cloakroom/v1/invitations_pb.js";
import { LogService } from "../gen/cloakroom/v1/logs_pb.js";
import { MemberService } from "../gen/cloakroom/v1/members_pb.js";
import { ProxyService } from "../gen/cloakroom/v1/proxies_pb.js";
import { ReactorFormulaService, ReactorService } from "../gen/cloakroom/v1/reactors_pb.js";
import { SessionService } from "../gen/cloakroom/v1/sessions_pb.js";
import { TenantService } from "../gen/cloakroom/v1/tenants_pb.js";
import { ThreeDSService } from "../gen/cloakroom/v1/threeds_pb.js";
import { TokenizeService, TokenService } from "../gen/cloakroom/v1/tokens_pb.js";
import { TransactionService } from "../gen/cloakroom/v1/transactions_pb.js";
import { clientReader } from "./api/client-address.js";
import { registerDocs } from "./api/docs.js";
import { registerHealth } from "./api/health.js";
import { registerInvitationPage } from "./api/invitation-page.js";
import { causeFields, tenantFailure } from "./api/log-cause.js";
import { registerMetrics } from "./api/metrics-route.js";
import { observeInto } from "./api/observation.js";
import { createOperatorLog, type OperatorLog } from "./api/operator-log.js";
import { registerPaymentRoutes } from "./api/payment-routes.js";
import { createApiServer } from "./api/server.js";
import { type Clock, systemClock } from "./base/clock.js";
import { compose } from "./composition.js";
import type { Config } from "./config.js";
import { keyRotationsJob } from "./jobs/key-rotations.js";
import { logSealsJob } from "./jobs/log-seals.js";
import { mailJob } from "./jobs/mail.js";
import { reactorRunsJob } from "./jobs/reactor-runs.js";
import { type Job, Schedule } from "./jobs/schedule.js";
import { sweepJobs } from "./jobs/sweep.js";
import { tenantRemovalJob } from "./jobs/tenant-removal.js";
import { listenAt, readTls } from "./listening.js";
import type { MailCarrier } from "./mail/carrier.js";
import { chooseCarrier } from "./mail/choose-carrier.js";
import { MemoryBudget } from "./memory/memory-budget.js";
import { openRateGate } from "./rate-limiting.js";
import { readinessOf } from "./readiness.js";
import { waitForShares } from "./sealed-server.js";
import { readBinTable } from "./settings/bin-table.js";
import { REQUESTS_END_MS, Shutdown } from "./shutdown.js";
import { gaugeDatabase } from "./telemetry/database-gauges.js";
import { gaugeEventLoop } from "./telemetry/event-loop.js";
import { gaugeMemory } from "./telemetry/memory-gauges.js";
import { createMeters } from "./telemetry/meters.js";
import { gaugeSandbox } from "./telemetry/sandbox-gauges.js";
import { startTraces } from "./telemetry/traces.js";
import { Outbox } from "./tenancy/outbox.js";
import { openVault, type Vault } from "./vault.js";

/** Every service of the protos. A method that has no handler yet answers "unimplemented" over RPC. */
const SERVICES: readonly DescService[] = [
  TokenService,
  TokenizeService,
  ApplicationService,
  ApplicationKeyService,
  PermissionService,
  TenantService,
  MemberService,
  InvitationService,
  SessionService,
  LogService,
  ProxyService,
  ReactorService,
  ReactorFormulaService,
  ConnectionService,
  TransactionService,
  ThreeDSService,
];

/** A server that takes requests. */
export interface RunningServer {
  readonly url: string;
  readonly vault: Vault;
  /** Resolves when the server has ended by itself: its database is gone. */
  readonly failed: Promise<string>;
  /** What a stop waits for at this moment. */
  readonly waitingFor: () => readonly string[];
  /** Ends within 28 s, whatever does not. @throws what a part of the server failed to end with. */
  stop(): Promise<void>;
}

/**
 * Starts everything: the one place where the parts are put together.
 * @param whileSealed ends the wait for shares of a root key that was split.
 */
export async function startServer(
  config: Config,
  announce: (line: string) => void,
  clock: Clock = systemClock,
  whileSealed: AbortSignal = new AbortController().signal,
): Promise<RunningServer> {
  const log = createOperatorLog(config.logLevel);
  const meters = createMeters();
  const tls = await readTls(config);
  const bins = await readBinTable(config.binTableFile);
  // Whatever is open already is closed again when a later step fails: an open vault would keep the process from ending.
  await using opened = new AsyncDisposableStack();
  const shutdown = new Shutdown(log);
  const traces = await startTraces(process.env);
  opened.defer(() => shutdown.end("the traces exporter", async () => traces[Symbol.asyncDispose]()));
  const vault = opened.use(
    await openVault({
      ...{ config, announce, clock },
      as: "server",
      unseal: waitForShares({
        ...{ config, tls },
        say: announce,
        stopping: whileSealed,
        services: SERVICES.map(({ typeName }) => typeName),
      }),
      endPart: shutdown.end,
    }),
  );
  const draining = new AbortController();
  const readiness = readinessOf(vault.database, vault.rootKey, clock, draining.signal);
  const { database, keyring } = vault;
  let url = config.publicUrl ?? "";
  const parts = opened.use(compose(vault, config, { log, clock, bins, address: () => url, endPart: shutdown.end }));
  const schedule = new Schedule(({ job, error, attempt, nextAt }) =>
    log.warn(
      { job: job.name, ...causeFields(error), attempt, ...(nextAt ? { next_at: nextAt.toISOString() } : {}) },
      "a job failed and will be tried again",
    ),
  );
  opened.defer(() => shutdown.end("jobs", () => schedule.stop()));
  const start = (jobs: readonly Job[]) => schedule.start(jobs.map((job) => meters.timed(job)));
  start([
    ...sweepJobs({
      database,
      keyring,
      clock,
      onFailure: tenantFailure(log, "sweep", "a sweep of this tenant failed and will be tried again"),
    }),
    logSealsJob({
      ...{ database, keyring, clock, retentionDays: config.logRetentionDays },
      onFailure: tenantFailure(
        log,
        "log seals",
        "the log of this tenant could not be sealed; this will be tried again",
      ),
      onBroken: (tenantId) =>
        log.error({ tenant_id: tenantId }, "the log of this tenant was tampered with. Run: cloakroom audit verify"),
    }),
    tenantRemovalJob({
      ...{ database, keyring, clock },
      onFailure: tenantFailure(
        log,
        "tenant removal",
        "rows of a deleted tenant could not be removed; this will be tried again",
      ),
    }),
    reactorRunsJob({
      database,
      queue: parts.runs,
      clock,
      onFailure: tenantFailure(log, "reactor runs", "a tenant's runs could not be looked over"),
    }),
    keyRotationsJob({
      database,
      keyring,
      clock,
      onFailure: tenantFailure(log, "key rotations", "a tenant's keys could not be replaced yet"),
      onBroken: (tenantId, { count }) =>
        log.error(
          { tenant_id: tenantId, reason: `${count} rows do not open` },
          "a tenant's replaced keys are kept. Run: cloakroom keys rotate --tenant, which names the rows",
        ),
    }),
    ...parts.payments.jobs,
  ]);
  const memory = new MemoryBudget(config.bodyLimit);
  const rateGate = await openRateGate(config, log, meters);
  opened.defer(() => shutdown.end("the counters of rate limits", async () => rateGate[Symbol.asyncDispose]()));
  const server = await createApiServer({
    services: SERVICES,
    pipelines: parts.pipelines,
    invokeProxy: parts.invokeProxy,
    readiness,
    log,
    corsOrigins: config.corsOrigins,
    bodyLimit: config.bodyLimit,
    requestTimeout: config.requestTimeout,
    rpcLane: config.rpcLane,
    crowd: parts.crowd,
    memory,
    readClient: clientReader(config.trustedProxies),
    rateGate,
    meters,
    tls,
    async extend(app) {
      await registerDocs(app);
      const { incoming, approvals, challenges } = parts.payments;
      registerPaymentRoutes(app, { incoming, approvals, challenges }, observeInto(log, meters.operation));
      registerInvitationPage(app, parts.invitations, observeInto(log, meters.operation));
    },
  });
  gaugeMemory(meters.registry, memory);
  gaugeDatabase(meters.registry, database, () => clock.now());
  gaugeSandbox(meters.registry, parts.sandbox);
  gaugeEventLoop(meters.registry);
  const admin = Fastify({ logger: false });
  registerHealth(admin, readiness);
  registerMetrics(admin, meters.registry);
  opened.defer(() => shutdown.end("the admin port", () => admin.close()));
  const { port } = await listenAt("", config, () => server.listen(config.host, config.port));
  opened.defer(() => shutdown.end("requests in flight", () => server.close(REQUESTS_END_MS)));
  const adminAddress = { host: config.adminHost, port: config.adminPort };
  const adminUrl = await listenAt("ADMIN_", adminAddress, () => admin.listen(adminAddress));
  const scheme = config.tlsCertFile ? "https" : "http";
  url ||= `${scheme}://${config.host.includes(":") ? `[${config.host}]` : config.host}:${port}`;
  // Links lead to where the server is reached, which may be known only once it listens.
  start([mailOf(vault, chooseCarrier(config, announce), url, clock, log)]);
  announce(`Serving REST, gRPC, gRPC-Web and Connect at ${url}`);
  announce(`Health at ${adminUrl}/readyz`);

  const running = opened.move();
  let stopping: Promise<void> | undefined;
  /** Takes no more connections from its first moment on. What nobody waits for ends beside the requests in flight. */
  const stop = async () => {
    shutdown.begin();
    draining.abort();
    schedule.abort();
    void parts.rest();
    await running.disposeAsync();
    if (shutdown.errors.length > 0) throw shutdown.errors[0];
  };
  return {
    url,
    vault,
    waitingFor: () => shutdown.waitingFor,
    failed: vault.embedded?.exited.then(({ summary }) => summary) ?? new Promise(() => {}),
    stop: () => {
      stopping ??= stop();
      return stopping;
    },
  };
}

function mailOf(
  { database, keyring }: Vault,
  carrier: MailCarrier,
  publicUrl: string,
  clock: Clock,
  log: OperatorLog,
): Job {
  return mailJob({
    database,
    outbox: new Outbox({ database, keyring, carrier, publicUrl }),
    clock,
    onTrouble: (tenantId, reason, error) =>
      log.warn(
        {
          ...{ job: "mail", reason, ...(tenantId ? { tenant_id: tenantId } : {}) },
          ...(error === undefined ? {} : causeFields(error)),
        },
        "messages were not sent",
      ),
  });
}
