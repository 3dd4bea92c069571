import { pipeline } from "node:stream/promises";
import { OPERATOR_CONTEXT } from "../audit/audit-context.js";
import { sealUntilNow } from "../audit/chain/proven-until.js";
import { exportRange, wholeMinutes } from "../audit/export/export-range.js";
import { stampTokens } from "../audit/export/stamp-tokens.js";
import { ANY_ENTITY_ID, logEntry } from "../audit/log-entry.js";
import { systemClock } from "../base/clock.js";
import type { TenantId } from "../base/ids.js";
import { parseIsoTime } from "../base/iso-time.js";
import { terminal } from "../base/terminal.js";
import { configuredSinks } from "../settings/log-sinks.js";
import { writeLog } from "../store/audit/audit-logs.js";
import { openLogSnapshot } from "../store/audit/log-snapshot.js";
import type { Vault } from "../vault/vault.js";
import { chosenTenants } from "./chosen-tenants.js";
import { requireNew, writeNewFile } from "./new-file.js";
import { openForCommand } from "./open-for-command.js";
import { type CommandInput, requiredText } from "./operator-command.js";
import { progressReporter } from "./progress.js";
import { UsageError } from "./usage-error.js";

export async function auditExport({ config, options, say, printResult }: CommandInput): Promise<void> {
  requiredText(options, "tenant");
  const now = new Date(systemClock.now());
  const range = wholeMinutes({
    since: readTime(options, "since") ?? new Date(0),
    until: readTime(options, "until") ?? now,
  });
  if (range.since >= range.until) throw new UsageError("--since must be before --until.");
  const file = options.file === undefined ? undefined : requiredText(options, "file");
  if (file !== undefined) await requireNew(file);
  await using vault = await openForCommand({ config, say });
  const [tenantId] = await chosenTenants(vault, options);
  if (!tenantId) return;
  const keys = await vault.keyring.of(tenantId);
  const sealing = { ...vault, sinks: configuredSinks(config.logSinks), isStamped: config.timeStamps !== undefined };
  const isWhole = await sealUntilNow(sealing, tenantId, now);
  await recordExport(vault, tenantId);
  await using snapshot = await openLogSnapshot(vault.address, tenantId);
  let rows = 0;
  const tell = progressReporter(say, `Tenant ${tenantId}`, snapshot.sealedRows);
  const log = { tenantId, keys, isWhole, tokenOf: stampTokens(vault.database) };
  const lines = exportRange(snapshot, log, range, (count) => {
    rows = count;
    tell(count);
  });
  if (file === undefined) {
    await pipeline(lines, terminal().stdout, { end: false });
    return;
  }
  await writeNewFile(file, (target) => pipeline(lines, target));
  const shown = { since: range.since.toISOString(), until: range.until.toISOString(), rows };
  printResult({ file, tenant_id: tenantId, ...shown });
}

/** An export is an access to the log (PCI DSS 10.2.1.3). */
async function recordExport({ database }: Vault, tenantId: TenantId): Promise<void> {
  const details = { remark: "exported by an operator", context: OPERATOR_CONTEXT };
  await database.of(tenantId).ordinary(async (tx) => {
    writeLog(tx, logEntry("log", ANY_ENTITY_ID, "list", details));
  });
}

function readTime(options: CommandInput["options"], name: "since" | "until"): Date | undefined {
  if (options[name] === undefined) return undefined;
  const time = parseIsoTime(requiredText(options, name));
  if (!time) throw new UsageError(`--${name} must be an ISO 8601 time such as 2026-11-01 or 2026-11-01T08:00:00Z.`);
  return time;
}
