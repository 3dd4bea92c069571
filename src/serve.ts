import type { Registry } from "prom-client";
import { openAdminPort } from "./admin-port.js";
import { clientReader } from "./api/client-address.js";
import { registerDocs } from "./api/docs.js";
import { registerInvitationPage } from "./api/invitation-page.js";
import { causeFields, tenantFailure } from "./api/log-cause.js";
import { observeInto } from "./api/observation.js";
import { createOperatorLog, type OperatorLog } from "./api/operator-log.js";
import { registerPaymentRoutes } from "./api/payment-routes.js";
import { createApiServer } from "./api/server.js";
import { ChainHistory } from "./audit/chain-history.js";
import { LogClock } from "./audit/log-clock.js";
import type { SealParts } from "./audit/seal-log.js";
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
import { timelyJob } from "./jobs/timely-job.js";
import { listenAt, readTls } from "./listening.js";
import type { MailCarrier } from "./mail/carrier.js";
import { chooseCarrier } from "./mail/choose-carrier.js";
import { MemoryBudget } from "./memory/memory-budget.js";
import { openRateGate } from "./rate-limiting.js";
import { readinessOf } from "./readiness.js";
import { databaseGone, type RunningServer, type ServingProcess } from "./running-server.js";
import { waitForShares } from "./sealed-server.js";
import { SERVICES } from "./served-services.js";
import { readBinTable } from "./settings/bin-table.js";
import { REQUESTS_END_MS, Shutdown } from "./shutdown.js";
import { gaugeDatabase } from "./telemetry/database-gauges.js";
import { gaugeEventLoop } from "./telemetry/event-loop.js";
import { gaugeMemory } from "./telemetry/memory-gauges.js";
import { createMeters, type Meters } from "./telemetry/meters.js";
import { gaugeSandbox } from "./telemetry/sandbox-gauges.js";
import { startTraces } from "./telemetry/traces.js";
import { Outbox } from "./tenancy/outbox.js";
import { sharesNeedRestart } from "./unsealing.js";
import { openVault, type Vault } from "./vault.js";

const TAMPERED = {
  broken: "the log of this tenant was tampered with. Run: cloakroom audit verify",
  refused:
    "the log of this tenant is not sealed any more, since the end of its chain of seals is gone. Run: cloakroom audit verify",
} as const;

/**
 * Starts everything: the one place where the parts are put together.
 * @param whileSealed ends the wait for shares of a root key that was split.
 * @param part absent: this process alone is the server, with an admin port of its own.
 */
export async function startServer(
  config: Config,
  announce: (line: string) => void,
  clock: Clock = systemClock,
  whileSealed: AbortSignal = new AbortController().signal,
  part?: ServingProcess,
): Promise<RunningServer & { readonly registry: Registry }> {
  const log = createOperatorLog(config.logLevel, part?.number);
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
      unseal: part
        ? sharesNeedRestart
        : waitForShares({
            ...{ config, tls },
            say: announce,
            stopping: whileSealed,
            services: SERVICES.map(({ typeName }) => typeName),
          }),
      endPart: shutdown.end,
      ...(part ? { opened: part.opened } : {}),
    }),
  );
  const draining = new AbortController();
  const readiness = readinessOf(vault.database, vault.rootKey, clock, draining.signal);
  const { database, keyring } = vault;
  let url = config.publicUrl ?? "";
  const parts = opened.use(
    compose(vault, config, {
      ...{ log, clock, bins, address: () => url, endPart: shutdown.end },
      sharedRunner: part?.runner,
    }),
  );
  const schedule = new Schedule(({ job, error, attempt, nextAt }) =>
    log.warn(
      { job: job.name, ...causeFields(error), attempt, ...(nextAt ? { next_at: nextAt.toISOString() } : {}) },
      "a job failed and will be tried again",
    ),
  );
  opened.defer(() => shutdown.end("jobs", () => schedule.stop()));
  const sealing: SealParts = {
    ...{ database, keyring, history: new ChainHistory() },
    onVaultBroken() {
      meters.logTrouble("vault_broken");
      log.error({}, "the vault's own record of tenants' seals was tampered with. Run: cloakroom audit verify");
    },
  };
  const logClock = watchLogClock(sealing, clock, log, meters);
  opened.defer(() => shutdown.end("logs being set back", () => logClock.stop()));
  const start = (jobs: readonly Job[]) => schedule.start(jobs.map((job) => meters.timed(job)));
  const onAhead = ({ name }: Job) =>
    log.error({ reason: name }, "the clock of this server is ahead of the database's: nothing is removed by it");
  start([
    ...sweepJobs({
      ...{ database, keyring, clock },
      onFailure: tenantFailure(log, "sweep", "a sweep of this tenant failed and will be tried again"),
      // A clock that a caller of this function brings along is meant to differ from the database's.
      ...(clock === systemClock ? { timely: (job: Job) => timelyJob(database, clock, job, onAhead) } : {}),
    }),
    logSealsJob({
      ...{ ...sealing, clock, retentionDays: config.logRetentionDays },
      onFailure: tenantFailure(
        log,
        "log seals",
        "the log of this tenant could not be sealed; this will be tried again",
      ),
      onBroken: (tenantId, outcome) => {
        meters.logTrouble(outcome);
        log.error({ tenant_id: tenantId }, TAMPERED[outcome]);
      },
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
  const rateGate = await openRateGate(config, log, meters, part?.rateLimits);
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
    rpcFastPath: config.rpcFastPath,
    overload: parts.overload,
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
  const admin = part ? undefined : openAdminPort(config, readiness, meters.registry);
  if (admin) opened.defer(() => shutdown.end("the admin port", admin.close));
  const { port } = await listenAt("", config, () => server.listen(config.host, config.port));
  opened.defer(() => shutdown.end("requests in flight", () => server.close(REQUESTS_END_MS)));
  const adminUrl = await admin?.listen();
  const scheme = config.tlsCertFile ? "https" : "http";
  url ||= `${scheme}://${config.host.includes(":") ? `[${config.host}]` : config.host}:${port}`;
  // Links lead to where the server is reached, which may be known only once it listens.
  start([mailOf(vault, chooseCarrier(config, announce), url, clock, log)]);
  announce(`Serving REST, gRPC, gRPC-Web and Connect at ${url}`);
  if (adminUrl) announce(`Health at ${adminUrl}/readyz`);

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
    registry: meters.registry,
    waitingFor: () => shutdown.waitingFor,
    failed: databaseGone(vault),
    stop: () => {
      stopping ??= stop();
      return stopping;
    },
  };
}

/** Sets logs back that were closed while the clock ran fast, and says so. */
function watchLogClock(sealing: SealParts, clock: Clock, log: OperatorLog, meters: Meters): LogClock {
  const logClock = new LogClock({
    ...{ ...sealing, clock },
    onSetBack(tenantId, { from, to }) {
      meters.logTrouble("set_back");
      const reason = `it was closed until ${from.toISOString()}, and goes on at ${to.toISOString()}`;
      log.warn({ tenant_id: tenantId, reason }, "the clock was set back: the log of this tenant follows");
    },
    onRefused(tenantId) {
      meters.logTrouble("refused");
      log.error({ tenant_id: tenantId }, TAMPERED.refused);
    },
    onBehind(milliseconds) {
      meters.logTrouble("behind");
      const reason = `${(milliseconds / 1_000).toFixed(1)} s`;
      log.error(
        { reason },
        "the clock of this server is behind the database's: set it right, or its writes are refused",
      );
    },
    onFailure: (tenantId) =>
      log.error({ tenant_id: tenantId }, "the log of this tenant could not be set back; this will be tried again"),
  });
  sealing.database.onClosedMinute((tenantId) => logClock.noticed(tenantId));
  return logClock;
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
