import type { Registry } from "prom-client";
import { createOperatorLog } from "../api/observation/operator-log.js";
import { systemClock } from "../base/clock.js";
import { chooseTransport } from "../mail/choose-transport.js";
import { readBinTable } from "../settings/bin-table.js";
import type { Config } from "../settings/config.js";
import { createMeters } from "../telemetry/meters.js";
import { startTraces } from "../telemetry/traces.js";
import { sharesNeedRestart, type Unseal } from "../vault/unsealing.js";
import { openVault } from "../vault/vault.js";
import { backgroundJobs, mailDelivery } from "./background-jobs.js";
import { CertificateFiles } from "./certificate-files.js";
import { compose } from "./composition.js";
import { createLogSealing, watchLogClock } from "./log-sealing.js";
import { createLogSinks } from "./log-sinks.js";
import { openPorts } from "./ports.js";
import { openRateCounters } from "./rate-limiting.js";
import { readinessOfVault, warningOfRunner } from "./readiness.js";
import { databaseExited, type RunningServer, type ServingProcess, type Surroundings } from "./running-server.js";
import { openSchedule } from "./schedule.js";
import { waitForShares } from "./sealed-server.js";
import { SERVICES } from "./served-services.js";
import { ServerRecord } from "./server-record.js";
import { type Part, Shutdown } from "./shutdown.js";

/**
 * Starts a server, from the vault up to its ports. If a step fails, closes everything opened before: an open vault
 * would keep the process alive.
 * @param part absent: this process alone is the server, with its own admin port.
 */
export async function startServer(
  config: Config,
  { announce, clock = systemClock, whileStarting = new AbortController().signal, logLines }: Surroundings,
  part?: ServingProcess,
): Promise<RunningServer & { readonly registry: Registry }> {
  const log = createOperatorLog(config.logLevel, part?.number, logLines);
  const meters = createMeters();
  const bins = await readBinTable(config.binTableFile);
  await using opened = new AsyncDisposableStack();
  const tls = opened.use(await CertificateFiles.open(config, log));
  const shutdown = new Shutdown(log);
  /** Parts end in reverse order. */
  const endLater = (name: Part, end: () => Promise<unknown>) => opened.defer(() => shutdown.end(name, end));
  const traces = await startTraces(config.traces);
  endLater("the traces exporter", async () => traces[Symbol.asyncDispose]());
  const unseal = part ? sharesNeedRestart : sharesOverPort(config, tls, announce, whileStarting);
  const endPart = shutdown.end;
  const fromPrimary = part ? { opened: part.opened } : {};
  const vault = opened.use(await openVault({ config, announce, clock, as: "server", unseal, endPart, ...fromPrimary }));
  const record = new ServerRecord(vault, log);
  if (!part) endLater("the record of the stop", () => record.stop());
  const draining = new AbortController();
  const sinks = createLogSinks(config.logSinks, log, meters);
  const sinkNames = sinks.map(({ name }) => name);
  let url = config.publicUrl ?? "";
  const address = () => url;
  const counters = await openRateCounters(config, log, part);
  endLater("the counters of rate limits", async () => counters[Symbol.asyncDispose]());
  const inputs = { log, clock, bins, address, endPart, sharedRunner: part?.runner, signInLimits: counters.signIns };
  const parts = opened.use(compose(vault, config, inputs));
  const state = readinessOfVault(vault, clock, draining.signal, sinkNames);
  const readiness = warningOfRunner(state, parts.sandbox);
  const schedule = openSchedule(log, meters);
  endLater("jobs", () => schedule.stop());
  const sealed = { sinks: sinkNames, isStamped: config.timeStamps !== undefined };
  const sealing = createLogSealing(vault, sealed, log, meters);
  const logClock = watchLogClock(sealing, clock, log, meters);
  endLater("logs being set back", () => logClock.stop());
  schedule.start(backgroundJobs({ vault, config, clock, log, meters, sealing, sinks, parts }));
  const ports = await openPorts({ config, vault, clock, log, meters, tls, readiness, parts, counters, part, endLater });
  url ||= ports.url;
  // Links in messages lead to the server's address, which may be known only once it listens.
  schedule.start([mailDelivery({ vault, clock, log }, chooseTransport(config, announce), url)]);
  announceAddresses(announce, url, ports.adminUrl);
  if (!part) record.start("one process takes requests");

  const running = opened.move();
  // First the port closes: clients that get a 503 on an open connection open another one at once.
  const stop = shutdown.stopper(async () => {
    await ports.stopListening();
    draining.abort();
    schedule.abort();
    void parts.stopWork();
    await running.disposeAsync();
  });
  const waitingFor = () => shutdown.waitingFor;
  return { url, vault, registry: meters.registry, waitingFor, failed: databaseExited(vault), stop };
}

function announceAddresses(announce: (line: string) => void, url: string, adminUrl: string | undefined): void {
  announce(`Serving REST, gRPC, gRPC-Web and Connect at ${url}`);
  if (adminUrl) announce(`Health at ${adminUrl}/readyz`);
}

function sharesOverPort(
  config: Config,
  tls: CertificateFiles | undefined,
  say: (line: string) => void,
  stopping: AbortSignal,
): Unseal {
  return waitForShares({ config, tls, say, stopping, services: SERVICES.map(({ typeName }) => typeName) });
}
