import { systemClock } from "../base/clock.js";
import { isTenantId } from "../base/ids.js";
import { setIncludedMonthlyTokens } from "../tenancy/plan.js";
import { openVault } from "../vault/vault.js";
import { type Command, requiredText } from "./operator-command.js";
import { UsageError } from "./usage-error.js";

const MOST = 1_000_000_000_000;

export const tenantsUpdate: Command = {
  summary: "Change what a tenant's plan includes",
  options: { id: { type: "string" }, "included-monthly-active-tokens": { type: "string" } },
  help: [
    "--id ID            the tenant",
    "--included-monthly-active-tokens N",
    "                   a number, or default for CLOAKROOM_INCLUDED_MONTHLY_ACTIVE_TOKENS",
  ],
  async run({ config, options, say, printResult }) {
    const id = requiredText(options, "id").toLowerCase();
    if (!isTenantId(id)) throw new UsageError("--id must be the UUID of a tenant.");
    const included = readIncluded(requiredText(options, "included-monthly-active-tokens"));
    await using vault = await openVault({ config, as: "command", announce: say, clock: systemClock });
    const isThere = await vault.database.ordinary.run(id, "unguarded", (tx) => setIncludedMonthlyTokens(tx, included));
    if (!isThere) throw new UsageError("There is no such tenant. Run: cloakroom tenants list");
    printResult({ tenant_id: id, included_monthly_active_tokens: included ?? config.includedMonthlyActiveTokens });
  },
};

function readIncluded(text: string): number | null {
  if (text === "default") return null;
  const number = Number(text);
  if (/^\d+$/.test(text) && number <= MOST) return number;
  throw new UsageError(`--included-monthly-active-tokens must be a whole number up to ${MOST}, or default.`);
}
