import { emptiedLogs } from "../audit/chain/emptied-logs.js";
import { logMonthWarnings } from "../audit/chain/log-months.js";
import { overdueStamps } from "../audit/chain/overdue-stamps.js";
import { laggingSinks } from "../audit/delivery/lagging-sinks.js";
import { systemClock } from "../base/clock.js";
import { terminal } from "../base/terminal.js";
import { KeyFileError } from "../crypto/key-file.js";
import { RootKeyDenied, RootKeyUnreachable } from "../crypto/root-key.js";
import { ShareError } from "../crypto/shares.js";
import type { Config } from "../settings/config.js";
import { configuredSinks } from "../settings/log-sinks.js";
import { readDiskUse } from "../store/catalogue/disk-use.js";
import { clockGap, clockProblem } from "../store/clock-gap.js";
import { type ClusterReport, reportCluster } from "../store/cluster/cluster-report.js";
import { SINGLE_CONNECTIONS } from "../store/database.js";
import { EmbeddedDatabaseError } from "../store/embedded/embedded-database.js";
import { type DatabaseAddress, soleConnection } from "../store/postgres/connect.js";
import { DatabaseSetupError } from "../store/postgres/roles.js";
import { listClosedAhead } from "../store/tenancy/operator-tenants.js";
import { privilegedLogins } from "../vault/configured-database.js";
import type { Vault } from "../vault/vault.js";
import { certificateTrouble } from "./certificate-check.js";
import { openForCommand } from "./open-for-command.js";
import type { CommandInput } from "./operator-command.js";
import { runnerTrouble } from "./runner-check.js";

/** Errors whose messages say what to do. */
const OURS = [DatabaseSetupError, KeyFileError, RootKeyDenied, RootKeyUnreachable, ShareError, EmbeddedDatabaseError];

export async function doctor({ config, say, printResult }: CommandInput): Promise<void> {
  try {
    await using vault = await openForCommand({ config, say });
    const cluster = vault.embedded ? undefined : await reportCluster(vault.ownerAddress);
    const clocks = await clockTrouble(vault);
    const runner = await runnerTrouble();
    const emptied = await emptiedLogs(vault.ownerAddress);
    const certificate = await certificateTrouble(config);
    const problems = [...(cluster?.problems ?? []), clocks, runner, certificate, ...emptied].filter(
      (problem) => problem !== undefined,
    );
    const warnings = [
      ...(await privilegedLogins(config)).map(({ warning }) => warning),
      ...(await lateLog(vault, config)),
      ...shortRetention(config),
      ...(await logMonthWarnings(vault.ownerAddress, new Date(systemClock.now()), config.auditRetentionDays)),
    ];
    printResult({
      healthy: problems.length === 0,
      ...(problems.length > 0 ? { problem: problems.join("\n") } : {}),
      ...(warnings.length > 0 ? { warnings } : {}),
      database: vault.embedded ? `embedded, ${vault.embedded.dataDir}` : "DATABASE_URL",
      ...(await readServer(vault.address)),
      root_key: vault.rootKey.id,
      ...(cluster ? showCluster(cluster) : {}),
      ...(await showDisk(vault.ownerAddress, cluster)),
      connections_needed: config.connections + SINGLE_CONNECTIONS,
      rate_limits: config.rateLimits ?? "off",
      rate_limits_shared: config.redisUrl !== undefined,
    });
    if (problems.length > 0) terminal().exitCode = 1;
  } catch (error) {
    if (!(error instanceof Error) || !OURS.some((kind) => error instanceof kind)) throw error;
    printResult({ healthy: false, problem: error.message });
    terminal().exitCode = 1;
  }
}

/** What waits for the sinks and the time-stamp authority of the settings. */
async function lateLog({ database }: Vault, config: Config): Promise<readonly string[]> {
  const now = new Date(systemClock.now());
  const sinks = await laggingSinks(database, configuredSinks(config.logSinks), now);
  return [...sinks, ...(config.timeStamps ? await overdueStamps(database, now) : [])];
}

/** What PCI DSS 10.5.1 asks for. */
const MIN_RETENTION_DAYS = 365;

function shortRetention({ auditRetentionDays: days }: Config): readonly string[] {
  if (days === 0 || days >= MIN_RETENTION_DAYS) return [];
  return [`CLOAKROOM_AUDIT_RETENTION_DAYS is ${days}: PCI DSS 10.5.1 asks for at least ${MIN_RETENTION_DAYS} days.`];
}

/** A gap between this machine's clock and the database's, or logs that an earlier gap closed up to a future time. */
async function clockTrouble({ database, ownerAddress }: Vault): Promise<string | undefined> {
  const apart = clockProblem(await clockGap(database, systemClock));
  if (apart) return `The clock of this machine ${apart}. Synchronize both (NTP).`;
  const { length } = await listClosedAhead(ownerAddress);
  if (length === 0) return undefined;
  return `The clock was set back, and the logs of ${length} tenants are closed beyond it. Servers open them at the next request; to do so now, run: cloakroom audit reopen`;
}

/** With the application's role. */
async function readServer(address: DatabaseAddress) {
  await using sql = soleConnection(address, { role: "cloakroom_app" });
  const [facts] = await sql<{ version: string; role: string; bytes: number }[]>`
    select current_setting('server_version') as version, current_user as role, pg_database_size(current_database()) as bytes`;
  return {
    server_version: facts?.version ?? "unknown",
    role: facts?.role ?? "unknown",
    database_bytes: facts?.bytes ?? 0,
  };
}

function showCluster({ version, nodes }: ClusterReport) {
  return {
    citus_version: version,
    nodes: nodes.map((node) => ({
      node: node.address,
      kind: node.isCoordinator ? "coordinator" : "worker",
      answers: node.version !== undefined,
      bytes: node.bytes,
      shards: node.shards,
      connections: node.connections,
      max_connections: node.maxConnections,
      logins: node.logins,
    })),
  };
}

/**
 * Sizes, growth and connections, read by the owner of the tables because the other role may not see all. The
 * coordinator of a cluster has no rows of distributed tables.
 */
async function showDisk(address: DatabaseAddress, cluster: ClusterReport | undefined) {
  await using sql = soleConnection(address);
  const use = await readDiskUse(sql);
  const onNodes = new Map(cluster?.tables.map((found) => [found.table, found]));
  const tables = use.tables.map((here) => onNodes.get(here.table) ?? here).sort((a, b) => b.bytes - a.bytes);
  const placements = new Map(cluster?.placements.map(({ table, actual }) => [table, actual]));
  return {
    tables: cluster
      ? tables.map((found) => ({ ...found, placement: placements.get(found.table) ?? "coordinator" }))
      : tables,
    statistics_since: use.statisticsSince?.toISOString() ?? "the start",
    wal_bytes: use.walBytes ?? "not visible: grant pg_monitor to this login",
    wal_written_bytes: use.walWritten,
    connections: use.connections,
    max_connections: use.maxConnections,
  };
}
