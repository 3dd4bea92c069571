import { setBackLog } from "../audit/chain/set-back-log.js";
import { terminal } from "../base/terminal.js";
import { listClosedAhead } from "../store/tenancy/operator-tenants.js";
import { chooseTenants } from "./chosen-tenants.js";
import { openForCommand } from "./open-for-command.js";
import type { CommandInput } from "./operator-command.js";

export async function auditReopen({ config, options, say, printResult }: CommandInput): Promise<void> {
  await using vault = await openForCommand({ config, say });
  const ahead = await listClosedAhead(vault.ownerAddress);
  const chosen = options.tenant === undefined ? ahead : chooseTenants(ahead, options);
  const reopened: Readonly<Record<string, unknown>>[] = [];
  for (const tenantId of chosen) {
    const outcome = await setBackLog(vault, tenantId);
    const isOpen = outcome.kind === "set back";
    if (outcome.kind === "refused") {
      say(`${tenantId}: its chain of seals has no end. Run: cloakroom audit verify --tenant ${tenantId}`);
      terminal().exitCode = 1;
    }
    reopened.push({
      tenant_id: tenantId,
      reopened: isOpen,
      ...(isOpen
        ? {
            closed_until: outcome.from.toISOString(),
            goes_on_at: outcome.to.toISOString(),
            rows_set_aside: outcome.rows,
          }
        : { reason: outcome.kind }),
    });
  }
  printResult(reopened);
}
