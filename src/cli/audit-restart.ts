import { attestTenantGone, restartChain } from "../audit/chain/restart-chain.js";
import { VAULT_TENANT_ID } from "../base/ids.js";
import { listActiveTenants } from "../store/tenancy/operator-tenants.js";
import type { Vault } from "../vault/vault.js";
import { verifyTenant } from "./audit-verify.js";
import { chooseTenants } from "./chosen-tenants.js";
import { openForCommand } from "./open-for-command.js";
import type { CommandInput } from "./operator-command.js";
import { UsageError } from "./usage-error.js";
import { vaultVerdict } from "./vault-verdict.js";

export async function auditRestart({ config, options, say, printResult }: CommandInput): Promise<void> {
  if ((options.tenant === undefined) === (options.vault === undefined)) {
    throw new UsageError("Choose one of --tenant ID and --vault.");
  }
  await using vault = await openForCommand({ config, say });
  printResult(options.vault === true ? await restartVault(vault) : await restartTenant(vault, options, say));
}

async function restartVault(vault: Vault) {
  const known = await vaultVerdict(vault);
  const number = await restartChain(vault, VAULT_TENANT_ID, known);
  return { restarted: "the vault's own chain", number, acknowledged: known.findingCount };
}

async function restartTenant(vault: Vault, options: CommandInput["options"], say: CommandInput["say"]) {
  const active = await listActiveTenants(vault.ownerAddress);
  const own = await vaultVerdict(vault);
  const [tenantId] = chooseTenants([...new Set([...active, ...own.attested.keys()])], options);
  if (!tenantId) throw new UsageError("--tenant must be the id of a tenant. Run: cloakroom tenants list");
  if (!active.includes(tenantId)) {
    await attestTenantGone(vault, tenantId);
    return { tenant_id: tenantId, released: true };
  }
  const known = await verifyTenant(vault, tenantId, say, { attested: own.attested.get(tenantId) });
  const number = await restartChain(vault, tenantId, known);
  return { tenant_id: tenantId, restarted: true, number, acknowledged: known.findingCount };
}
