import { globSync, rmSync } from "node:fs";
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Manifest } from "../backups/manifest.js";
import { openTarget } from "../backups/open-target.js";
import { chosenBackup, readBackup, requireSameTime } from "../backups/stored-backups.js";
import { atExit } from "../base/at-exit.js";
import { systemClock } from "../base/clock.js";
import { terminal } from "../base/terminal.js";
import type { Config } from "../settings/config.js";
import { listActiveTenants } from "../store/tenancy/operator-tenants.js";
import type { RowCounts } from "../store/vault-copy/read-export.js";
import { openSample } from "../tenancy/open-sample.js";
import { finishImport, startImport } from "../vault/import-vault.js";
import { openForImport, openVault, type Vault } from "../vault/vault.js";
import { verifyLogs } from "./audit-verify.js";
import { countedBytes } from "./counted-bytes.js";
import { type CommandInput, requiredText } from "./operator-command.js";
import { progressReporter } from "./progress.js";
import { wholeOption } from "./whole-option.js";

/** Rows of each table and tenant whose values are opened, unless --sample says otherwise. */
const SAMPLE_ROWS = 1_000;

/** Restores a backup into a database that is made for it and removed again, and checks what is there. */
export async function backupVerify(input: CommandInput): Promise<void> {
  const { config, options, say, printResult } = input;
  const sample = wholeOption(options, "sample", [1, 10_000_000]) ?? SAMPLE_ROWS;
  const target = openTarget(requiredText(options, "from"), config.buckets);
  const backup = await chosenBackup(target, options.backup);
  await using scratch = await newScratch();
  // Its own database: what DATABASE_URL names is not touched. The root key is the configured one.
  const scratchConfig: Config = {
    ...config,
    dataDir: join(scratch.directory, "data"),
    databaseUrl: undefined,
    migrateDatabaseUrl: undefined,
  };
  const onProgress = progressReporter(say, "Restore", backup.bytes, "bytes");
  const started = await startImport(countedBytes(readBackup(target, backup), onProgress));
  requireSameTime(backup, started.header);
  await using opened = await openForImport(scratchConfig, started.header.migrations, say);
  const { rows, unsealed } = await finishImport(started, opened, say);
  await using vault = await openVault({
    config: scratchConfig,
    as: "command",
    announce: say,
    clock: systemClock,
    opened: { address: opened.ownerAddress, rootKeys: unsealed },
  });
  const problems = differences(backup, rows);
  const logs = await verifyLogs(vault, { options: {}, say });
  if (!logs.isIntact) problems.push("audit verify has findings");
  const values = await openValues(vault, sample);
  if (values.broken.length > 0) problems.push("sealed values do not open");
  printResult({
    backup: backup.name,
    verified: problems.length === 0,
    ...(problems.length > 0 ? { problem: problems.join("; ") } : {}),
    taken_at: backup.taken_at,
    server_version: backup.server_version,
    rows: Object.values(rows).reduce((sum, count) => sum + count, 0),
    tenants: rows.tenants ?? 0,
    logs_intact: logs.isIntact,
    rows_opened: values.opened,
    ...(values.broken.length > 0 ? { broken: values.broken } : {}),
    ...(logs.isIntact ? {} : { logs: logs.shown }),
  });
  if (problems.length > 0) terminal().exitCode = 1;
}

interface Scratch extends AsyncDisposable {
  readonly directory: string;
}

/**
 * A directory that PostgreSQL's account may enter; its files have modes of their own. It is removed after a signal too: no
 * other command would find it.
 */
async function newScratch(): Promise<Scratch> {
  const directory = await mkdtemp(join(tmpdir(), "cloakroom-verify-"));
  const removal = atExit(() => removeOnceStopped(directory));
  await chmod(directory, 0o711);
  return {
    directory,
    async [Symbol.asyncDispose]() {
      await rm(directory, { recursive: true, force: true });
      removal[Symbol.dispose]();
    },
  };
}

/** How long PostgreSQL may take to stop. */
const STOP_MS = 10_000;

/** An exit waits for nothing that is not done at once: PostgreSQL would write into what is removed. */
function removeOnceStopped(directory: string): void {
  const isServed = () => globSync(join(directory, "data", "*", "data", "postmaster.pid")).length > 0;
  const pausing = new Int32Array(new SharedArrayBuffer(4));
  for (const end = Date.now() + STOP_MS; isServed() && Date.now() < end; ) Atomics.wait(pausing, 0, 0, 20);
  rmSync(directory, { recursive: true, force: true, maxRetries: 3 });
}

/** The tables whose numbers of rows differ from those that were exported. */
function differences({ rows: exported }: Manifest, restored: RowCounts): string[] {
  const tables = new Set([...Object.keys(exported), ...Object.keys(restored)]);
  return [...tables].flatMap((table) => {
    const [before, after] = [exported[table] ?? 0, restored[table] ?? 0];
    return before === after ? [] : [`${table} has ${after} rows, and ${before} were exported`];
  });
}

async function openValues({ database, keyring, ownerAddress }: Vault, rows: number) {
  let opened = 0;
  const broken: string[] = [];
  for (const tenantId of await listActiveTenants(ownerAddress)) {
    const sample = await openSample(database, tenantId, await keyring.of(tenantId), { rows });
    opened += sample.opened;
    broken.push(...sample.broken.named.map(({ table, key }) => `${table} ${key} of tenant ${tenantId}`));
  }
  return { opened, broken };
}
