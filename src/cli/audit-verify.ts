import { readFile } from "node:fs/promises";
import type { Finding } from "../audit/findings.js";
import { type LogVerdict, type SeenSeal, verifyLog } from "../audit/verify-log.js";
import { systemClock } from "../base/clock.js";
import type { TenantId } from "../base/ids.js";
import { readLogSnapshot } from "../store/log-snapshot.js";
import { openVault } from "../vault.js";
import { chosenTenants } from "./chosen-tenants.js";
import { type Command, UsageError } from "./command.js";
import { progressOf } from "./progress.js";

export const auditVerify: Command = {
  summary: "Compare the log with its seals, and say which minutes were tampered with (exit code 1)",
  options: { tenant: { type: "string" }, since: { type: "string" } },
  help: [
    "--tenant ID        this tenant alone",
    "--since FILE       what an earlier run printed with --json, kept elsewhere: its seals must still be there",
  ],
  async run({ config, options, say, answer }) {
    const seen = typeof options.since === "string" ? await readSeen(options.since) : new Map<string, SeenSeal>();
    await using vault = await openVault({ config, as: "command", announce: say, clock: systemClock });
    const shown: Readonly<Record<string, unknown>>[] = [];
    for (const tenantId of await chosenTenants(vault, options)) {
      const keys = await vault.keyring.of(tenantId);
      const verdict = await readLogSnapshot(vault.address, tenantId, (snapshot) => {
        const onProgress = progressOf(say, `Tenant ${tenantId}`, snapshot.sealedRows);
        return verifyLog(snapshot, tenantId, keys, { seen: seen.get(tenantId), onProgress });
      });
      shown.push(show(tenantId, verdict, options.json === true));
      if (verdict.findingCount > 0) process.exitCode = 1;
    }
    answer(shown);
  },
};

function show(tenantId: TenantId, verdict: LogVerdict, asJson: boolean): Readonly<Record<string, unknown>> {
  const { findings, lastSeal, keptFrom } = verdict;
  return {
    tenant_id: tenantId,
    intact: verdict.findingCount === 0,
    rows: verdict.rows,
    seals: verdict.seals,
    unsealed_rows: verdict.unsealedRows,
    ...(keptFrom ? { kept_from: keptFrom.toISOString() } : {}),
    ...(lastSeal ? { last_seal: asJson ? lastSeal : `${lastSeal.number} of ${lastSeal.minute.toISOString()}` } : {}),
    finding_count: verdict.findingCount,
    findings: asJson ? findings : findings.map(inWords).join(""),
  };
}

function inWords({ kind, minute, detail }: Finding): string {
  return `\n  ${minute?.toISOString().slice(0, 16) ?? "(no minute)"} ${kind}: ${detail}`;
}

/** The last seals of an earlier run, by tenant. */
async function readSeen(path: string): Promise<ReadonlyMap<string, SeenSeal>> {
  const text = await readFile(path, "utf8").catch(() => {
    throw new UsageError(`--since ${path} cannot be read.`);
  });
  const seen = new Map<string, SeenSeal>();
  for (const entry of parseList(text, path)) {
    if (!isObject(entry) || typeof entry.tenant_id !== "string") throw notAnAnswer(path);
    const { last_seal: last } = entry;
    if (last === undefined) continue;
    if (!isObject(last) || typeof last.number !== "number" || typeof last.mac !== "string") throw notAnAnswer(path);
    const minute = new Date(typeof last.minute === "string" ? last.minute : Number.NaN);
    if (Number.isNaN(minute.getTime())) throw notAnAnswer(path);
    seen.set(entry.tenant_id, { number: last.number, mac: last.mac, minute });
  }
  return seen;
}

function parseList(text: string, path: string): readonly unknown[] {
  try {
    const parsed: unknown = JSON.parse(text);
    if (Array.isArray(parsed)) return parsed;
  } catch {
    // Said below.
  }
  throw notAnAnswer(path);
}

function notAnAnswer(path: string): UsageError {
  return new UsageError(`--since ${path} is not what audit verify --json prints.`);
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
