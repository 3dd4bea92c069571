import { isTenantId } from "../base/ids.js";
import { setIncludedMonthlyTokens, stopAskingForApproval } from "../tenancy/plan.js";
import { openForCommand } from "./open-for-command.js";
import { type CommandInput, requiredText } from "./operator-command.js";
import { UsageError } from "./usage-error.js";

const MAX_INCLUDED = 1_000_000_000_000;

export async function tenantsUpdate({ config, options, say, printResult }: CommandInput): Promise<void> {
  const id = requiredText(options, "id").toLowerCase();
  if (!isTenantId(id)) throw new UsageError("--id must be the UUID of a tenant.");
  const given = options["included-monthly-active-tokens"];
  const stops = options["stop-export-approval"] === true;
  if (given === undefined && !stops) throw new UsageError("Say what to change: run cloakroom tenants update --help");
  const included =
    given === undefined ? undefined : readIncluded(requiredText(options, "included-monthly-active-tokens"));
  await using vault = await openForCommand({ config, say });
  const isThere = await vault.database.of(id).ordinary(async (tx) => {
    if (included !== undefined && !(await setIncludedMonthlyTokens(tx, included))) return false;
    return !stops || (await stopAskingForApproval(tx));
  });
  if (!isThere) throw new UsageError("There is no such tenant. Run: cloakroom tenants list");
  printResult({
    tenant_id: id,
    ...(included === undefined ? {} : { included_monthly_active_tokens: included ?? 0 }),
    ...(stops ? { require_export_approval: false } : {}),
  });
}

function readIncluded(text: string): number | null {
  if (text === "default") return null;
  const number = Number(text);
  if (/^\d+$/.test(text) && number <= MAX_INCLUDED) return number;
  throw new UsageError(`--included-monthly-active-tokens must be a whole number up to ${MAX_INCLUDED}, or default.`);
}
