import cluster from "node:cluster";
import { once } from "node:events";
import { createServer } from "node:net";
import { Counter, collectDefaultMetrics, Gauge, Registry } from "prom-client";
import type { Readiness } from "../api/health/health.js";
import { createOperatorLog } from "../api/observation/operator-log.js";
import { systemClock } from "../base/clock.js";
import { memoryRateLimits, type RateLimits } from "../rate-limits/rate-limits.js";
import { memorySignInLimits, type SignInLimits } from "../rate-limits/sign-in-limits.js";
import { openAdminPort } from "../server/admin-port.js";
import { CertificateFiles } from "../server/certificate-files.js";
import { listenAt } from "../server/listening.js";
import { readinessOfVault, warningOfRunner } from "../server/readiness.js";
import { databaseExited, type RunningServer, type Surroundings } from "../server/running-server.js";
import { waitForShares } from "../server/sealed-server.js";
import { SERVICES } from "../server/served-services.js";
import { ServerRecord } from "../server/server-record.js";
import { Shutdown } from "../server/shutdown.js";
import type { Config } from "../settings/config.js";
import { gaugeSandbox } from "../telemetry/sandbox-gauges.js";
import { openVault, type Vault } from "../vault/vault.js";
import { AggregatedMetrics } from "./aggregated-metrics.js";
import type { FromProcess, StartMessage } from "./messages.js";
import type { OneProcess } from "./one-process.js";
import { ProcessGroup } from "./process-group.js";
import { SharedRunnerHost } from "./shared-runner-host.js";

/** How long processes may take to end, in milliseconds after the signal to stop. */
const PROCESSES_END_MS = 26_200;
/** How long a process may take to report its metrics, in milliseconds: Prometheus waits 10 s for a page. */
const METRICS_MS = 2_000;

/**
 * Starts a server of several processes. This one, the primary, accepts no requests: it owns the shared resources (the
 * embedded database, the root key, the runner of tenants' code, the counters of rate limits, the admin port) and keeps
 * the others alive. It also owns the listening socket, and hands each connection to one of them in turn.
 * @throws {ProcessStartError}
 */
export async function startProcesses(
  config: Config,
  { announce, clock = systemClock, whileStarting = new AbortController().signal }: Surroundings,
): Promise<RunningServer> {
  const log = createOperatorLog(config.logLevel, 0);
  await using opened = new AsyncDisposableStack();
  const tls = opened.use(await CertificateFiles.open(config, log));
  const shutdown = new Shutdown(log);
  const services = SERVICES.map(({ typeName }) => typeName);
  const unseal = waitForShares({ config, tls, say: announce, stopping: whileStarting, services });
  const vault = opened.use(await openVault({ config, announce, clock, as: "server", unseal, endPart: shutdown.end }));
  const record = new ServerRecord(vault, log);
  opened.defer(() => shutdown.end("the record of the stop", () => record.stop()));
  const runner = new SharedRunnerHost(config.sandbox, log);
  opened.defer(() => shutdown.end("the sandbox's runner", () => runner.close()));
  const whole = new AggregatedMetrics();
  const beginning = await processStart(config, vault, runner);
  const limits = memoryLimitsOf(config);
  const handle = messageHandler({ beginning, runner, limits, signInLimits: memorySignInLimits() });
  const group: ProcessGroup = new ProcessGroup({
    count: config.processes,
    log,
    fork: () => cluster.fork(),
    onMessage: (process, message) => {
      if (message.type !== "code_failure") return handle(process, message);
      for (const other of group.ready) if (other !== process) other.send(message);
    },
    onEnd: ({ number }) => whole.processEnded(number),
  });
  const draining = new AbortController();
  const page = whole.page(registryOf(group, runner), () => collectMetrics(group, whole));
  const readiness = readinessOfVault(vault, clock, draining.signal);
  const admin = openAdminPort(config, readinessOfAll(warningOfRunner(readiness, runner), group), page);
  opened.defer(() => shutdown.end("the admin port", admin.close));
  opened.defer(() => shutdown.end("processes", () => group.stop(PROCESSES_END_MS)));
  const { url, said } = await group.start(whileStarting);
  const adminUrl = await admin.listen();
  record.start(`${config.processes} processes take requests`);
  for (const line of said) announce(line);
  announce(`Health at ${adminUrl}/readyz`);

  const running = opened.move();
  return {
    url,
    vault,
    waitingFor: () => shutdown.waitingFor,
    failed: Promise.race([databaseExited(vault), group.failed]),
    stop: shutdown.stopper(async () => {
      draining.abort();
      await running.disposeAsync();
    }),
  };
}

async function collectMetrics(group: ProcessGroup, whole: AggregatedMetrics): Promise<void> {
  await Promise.all(
    group.ready.map(async (process) => {
      const metrics = await process.metrics(METRICS_MS);
      if (metrics) whole.report(process.number, metrics);
    }),
  );
}

/** The initial message of every process, without its number. */
async function processStart(
  config: Config,
  { embedded, rootKeys }: Vault,
  { socketPath }: SharedRunnerHost,
): Promise<Omit<StartMessage, "number">> {
  return {
    type: "begin",
    port: config.port === 0 ? await freePort(config) : config.port,
    runnerSocket: socketPath,
    rootKeys: rootKeys.local.map((key) => ({ id: key.id, base64: key.export().reveal().toString("base64") })),
    ...(embedded ? { address: embedded.connection } : {}),
  };
}

/** A port that any process can listen on later. Port 0 would become a different port after all of them have ended. */
async function freePort(config: Config): Promise<number> {
  const server = createServer();
  await listenAt("", config, async () => {
    server.listen(0, config.host);
    await once(server, "listening");
  });
  const address = server.address();
  server.close();
  await once(server, "close");
  return typeof address === "object" && address ? address.port : 0;
}

/** With CLOAKROOM_REDIS_URL, the processes count in Redis, as replicas do. */
function memoryLimitsOf({ rateLimits, redisUrl }: Config): RateLimits | undefined {
  return rateLimits && !redisUrl ? memoryRateLimits(rateLimits) : undefined;
}

interface Shared {
  readonly beginning: Omit<StartMessage, "number">;
  readonly runner: SharedRunnerHost;
  readonly limits: RateLimits | undefined;
  /** Processes with CLOAKROOM_REDIS_URL ask Redis instead. */
  readonly signInLimits: SignInLimits;
}

function messageHandler({
  beginning,
  runner,
  limits,
  signInLimits,
}: Shared): (process: OneProcess, message: FromProcess) => void {
  return (process, message) => {
    if (message.type === "hello") process.send({ ...beginning, number: process.number });
    if (message.type === "kill_runner") runner.kill(message.reason);
    if (message.type === "attempt") {
      const { number, attempt } = message;
      void signInLimits
        .allows(attempt)
        .then((isAllowed) => process.send({ type: "attempt_counted", number, isAllowed }));
    }
    if (message.type === "counts" && limits) {
      const verdicts = message.counts.map(([client, scope]) => limits.count(client, scope ?? undefined));
      void Promise.all(verdicts).then((found) =>
        process.send({ type: "verdicts", batch: message.batch, verdicts: found }),
      );
    }
  };
}

function readinessOfAll({ draining, check }: Readiness, group: ProcessGroup): Readiness {
  return {
    draining,
    async check() {
      const { checks, warnings } = await check();
      const serving = checks.serving ?? (group.ready.length > 0 ? undefined : "no process takes requests");
      return { checks: { ...checks, serving }, warnings };
    },
  };
}

/** The primary's own metrics: its processor time and memory, the runner, and the number of processes. */
function registryOf(group: ProcessGroup, runner: SharedRunnerHost): Registry {
  const registry = new Registry();
  const registers = [registry];
  // Metrics of its event loop would change the averages of the serving processes.
  collectDefaultMetrics({ register: registry });
  for (const { name } of registry.getMetricsAsArray())
    if (name.startsWith("nodejs_")) registry.removeSingleMetric(name);
  gaugeSandbox(registry, runner);
  new Gauge({
    name: "cloakroom_processes",
    help: "Processes that take requests.",
    registers,
    collect() {
      this.set(group.ready.length);
    },
  });
  new Counter({
    name: "cloakroom_processes_ended_total",
    help: "Processes that ended and had to be replaced.",
    registers,
    collect() {
      this.reset();
      this.inc(group.ended);
    },
  });
  return registry;
}
