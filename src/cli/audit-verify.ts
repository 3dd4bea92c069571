import type { Finding } from "../audit/findings.js";
import { type LogVerdict, type SeenSeal, verifyLog } from "../audit/verify-log.js";
import { systemClock } from "../base/clock.js";
import { Fault } from "../base/fault.js";
import type { TenantId } from "../base/ids.js";
import type { TenantKeys } from "../crypto/tenant-keys.js";
import { readLogSnapshot } from "../store/log-snapshot.js";
import { deletionOf, listActiveTenants } from "../store/operator-tenants.js";
import { openVault, type Vault } from "../vault.js";
import { chosenOf } from "./chosen-tenants.js";
import type { Command, CommandInput } from "./command.js";
import { progressOf } from "./progress.js";
import { readSeen } from "./seen-seals.js";

export const auditVerify: Command = {
  summary: "Compare the log with its seals, and say which minutes were tampered with (exit code 1)",
  options: { tenant: { type: "string" }, since: { type: "string" } },
  help: [
    "--tenant ID        this tenant alone",
    "--since FILE       what an earlier run printed with --json, kept elsewhere: its tenants and seals must still be there",
  ],
  async run({ config, options, say, answer }) {
    const seen = typeof options.since === "string" ? await readSeen(options.since) : new Map<TenantId, undefined>();
    await using vault = await openVault({ config, as: "command", announce: say, clock: systemClock });
    const active = new Set(await listActiveTenants(vault.ownerAddress));
    const shown: Readonly<Record<string, unknown>>[] = [];
    for (const tenantId of chosenOf([...new Set([...active, ...seen.keys()])], options)) {
      const earlier = seen.get(tenantId);
      const verdict = active.has(tenantId)
        ? await verify(vault, tenantId, earlier, say)
        : unchecked({ kind: "tenant_gone", minute: undefined, detail: await whereIs(vault, tenantId) });
      shown.push(show(tenantId, verdict, options.json === true));
      if (verdict.findingCount > 0) process.exitCode = 1;
    }
    answer(shown);
  },
};

/** Where a log could not be looked at, nothing is known of it but why. */
type Verdict = LogVerdict | Pick<LogVerdict, "lastSeal" | "findings" | "findingCount">;

function unchecked(finding: Finding, lastSeal?: SeenSeal): Verdict {
  return { lastSeal, findings: [finding], findingCount: 1 };
}

/** A tenant whose keys do not open holds up no other: its last seal of before stands for the next comparison. */
async function verify(
  vault: Vault,
  tenantId: TenantId,
  seen: SeenSeal | undefined,
  say: CommandInput["say"],
): Promise<Verdict> {
  let keys: TenantKeys;
  try {
    keys = await vault.keyring.of(tenantId);
  } catch (error) {
    return unchecked({ kind: "keys_closed", minute: undefined, detail: whyClosed(error) }, seen);
  }
  return readLogSnapshot(vault.address, tenantId, (snapshot) => {
    const onProgress = progressOf(say, `Tenant ${tenantId}`, snapshot.sealedRows);
    return verifyLog(snapshot, tenantId, keys, { seen, onProgress });
  });
}

function whyClosed(error: unknown): string {
  if (error instanceof Fault && error.code === "unauthenticated") return "the tenant's keys are not there any more";
  if (!(error instanceof Fault)) return "the tenant's keys were changed, or some of them are missing";
  const reason = error.cause instanceof Error ? `: ${error.cause.message}` : "";
  return `the tenant's keys could not be opened${reason}`;
}

async function whereIs(vault: Vault, tenantId: TenantId): Promise<string> {
  const deletion = await deletionOf(vault.ownerAddress, tenantId);
  if (!deletion) return "the tenant was there before, and there is no record of it";
  const when = deletion.at ? `at ${deletion.at.toISOString()}` : "without a time";
  const by = deletion.by ? `by application ${deletion.by}` : "without a name";
  return `the tenant was there before: it is recorded as deleted, ${when} ${by}, and its log is gone with it`;
}

function show(tenantId: TenantId, verdict: Verdict, asJson: boolean): Readonly<Record<string, unknown>> {
  const { findings, lastSeal } = verdict;
  return {
    tenant_id: tenantId,
    intact: verdict.findingCount === 0,
    ...("rows" in verdict ? showCounts(verdict) : {}),
    ...(lastSeal ? { last_seal: asJson ? lastSeal : `${lastSeal.number} of ${lastSeal.minute.toISOString()}` } : {}),
    finding_count: verdict.findingCount,
    findings: asJson ? findings : findings.map(inWords).join(""),
  };
}

function showCounts({ rows, seals, unsealedRows, keptFrom }: LogVerdict): Readonly<Record<string, unknown>> {
  return {
    ...{ rows, seals, unsealed_rows: unsealedRows },
    ...(keptFrom ? { kept_from: keptFrom.toISOString() } : {}),
  };
}

function inWords({ kind, minute, detail }: Finding): string {
  return `\n  ${minute?.toISOString().slice(0, 16) ?? "(no minute)"} ${kind}: ${detail}`;
}
