import { attestTenantGone, restartChain } from "../audit/restart-chain.js";
import { verifyVault } from "../audit/verify-vault.js";
import { systemClock } from "../base/clock.js";
import { VAULT_TENANT_ID } from "../base/ids.js";
import { readLogSnapshot } from "../store/audit/log-snapshot.js";
import { listActiveTenants } from "../store/tenancy/operator-tenants.js";
import { openVault, type Vault } from "../vault/vault.js";
import { verifyTenant } from "./audit-verify.js";
import { chosenOf } from "./chosen-tenants.js";
import type { Command, CommandInput } from "./operator-command.js";
import { UsageError } from "./usage-error.js";

export const auditRestart: Command = {
  summary: "Continue a chain of seals that was tampered with, after you have investigated",
  options: { tenant: { type: "string" }, vault: { type: "boolean" } },
  help: [
    "--tenant ID        the chain of this tenant; a tenant that is gone is no longer expected",
    "--vault            the vault's own chain, which attests those of all tenants",
    "",
    "Acknowledges the present findings of audit verify: they stay in its output, but no longer make it fail. Later",
    "findings do.",
  ],
  async run({ config, options, say, printResult }) {
    if ((options.tenant === undefined) === (options.vault === undefined)) {
      throw new UsageError("Choose one of --tenant ID and --vault.");
    }
    await using vault = await openVault({ config, as: "command", announce: say, clock: systemClock });
    printResult(options.vault === true ? await restartVault(vault) : await restartTenant(vault, options, say));
  },
};

async function restartVault(vault: Vault) {
  const known = await verifyOwn(vault);
  const number = await restartChain(vault, VAULT_TENANT_ID, known);
  return { restarted: "the vault's own chain", number, acknowledged: known.findingCount };
}

async function restartTenant(vault: Vault, options: CommandInput["options"], say: CommandInput["say"]) {
  const active = await listActiveTenants(vault.ownerAddress);
  const own = await verifyOwn(vault);
  const [tenantId] = chosenOf([...new Set([...active, ...own.attested.keys()])], options);
  if (!tenantId) throw new UsageError("--tenant must be the id of a tenant. Run: cloakroom tenants list");
  if (!active.includes(tenantId)) {
    await attestTenantGone(vault, tenantId);
    return { tenant_id: tenantId, released: true };
  }
  const known = await verifyTenant(vault, tenantId, own.attested.get(tenantId), say);
  const number = await restartChain(vault, tenantId, known);
  return { tenant_id: tenantId, restarted: true, number, acknowledged: known.findingCount };
}

async function verifyOwn(vault: Vault) {
  const keys = await vault.keyring.of(VAULT_TENANT_ID);
  return readLogSnapshot(vault.address, VAULT_TENANT_ID, (snapshot) => verifyVault(snapshot, keys));
}
