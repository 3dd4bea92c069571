import { pipeline } from "node:stream/promises";
import { exportRange, wholeMinutes } from "../audit/export-range.js";
import { ALL, logEntry } from "../audit/log-entry.js";
import { systemClock } from "../base/clock.js";
import { parseIsoTime } from "../base/iso-time.js";
import { writeLog } from "../store/audit-logs.js";
import { openLogSnapshot } from "../store/log-snapshot.js";
import { openVault } from "../vault/vault.js";
import { chosenTenants } from "./chosen-tenants.js";
import { type CommandInput, requiredText, UsageError } from "./command.js";
import { requireNew, writeNewFile } from "./new-file.js";
import { progressOf } from "./progress.js";

/** Exports a range of one tenant's log in the form that `audit verify FILE` verifies. The export leaves a log row. */
export async function exportSigned({ config, options, say, answer }: CommandInput): Promise<void> {
  requiredText(options, "tenant");
  const now = new Date(systemClock.now());
  const range = wholeMinutes({
    since: readTime(options, "since") ?? new Date(0),
    until: readTime(options, "until") ?? now,
  });
  if (range.since >= range.until) throw new UsageError("--since must be before --until.");
  const file = options.out === undefined ? undefined : requiredText(options, "out");
  if (file !== undefined) await requireNew(file);
  await using vault = await openVault({ config, as: "command", announce: say, clock: systemClock });
  const [tenantId] = await chosenTenants(vault, options);
  if (!tenantId) return;
  const keys = await vault.keyring.of(tenantId);
  await vault.database.ordinary.run(tenantId, "unguarded", async (tx) => {
    writeLog(tx, logEntry(undefined, "log", ALL, "list", "exported by an operator"));
  });
  await using snapshot = await openLogSnapshot(vault.address, tenantId);
  let rows = 0;
  const tell = progressOf(say, `Tenant ${tenantId}`, snapshot.sealedRows);
  const lines = exportRange(snapshot, tenantId, keys, range, (count) => {
    rows = count;
    tell(count);
  });
  if (file === undefined) {
    await pipeline(lines, process.stdout, { end: false });
    return;
  }
  await writeNewFile(file, (target) => pipeline(lines, target));
  answer({ file, tenant_id: tenantId, since: range.since.toISOString(), until: range.until.toISOString(), rows });
}

function readTime(options: CommandInput["options"], name: "since" | "until"): Date | undefined {
  if (options[name] === undefined) return undefined;
  const time = parseIsoTime(requiredText(options, name));
  if (!time) throw new UsageError(`--${name} must be an ISO 8601 time such as 2026-11-01 or 2026-11-01T08:00:00Z.`);
  return time;
}
