import { parseUuid, type TenantId } from "../base/ids.js";
import { listActiveTenants } from "../store/tenancy/operator-tenants.js";
import type { Vault } from "../vault/vault.js";
import type { CommandInput } from "./operator-command.js";
import { UsageError } from "./usage-error.js";

export async function chosenTenants(vault: Vault, options: CommandInput["options"]): Promise<readonly TenantId[]> {
  return chooseTenants(await listActiveTenants(vault.ownerAddress), options);
}

/** Those of `all` that the command chooses. */
export function chooseTenants(all: readonly TenantId[], options: CommandInput["options"]): readonly TenantId[] {
  if (options.tenant === undefined) return all;
  const wanted = typeof options.tenant === "string" ? parseUuid(options.tenant) : undefined;
  const found = all.find((id) => id === wanted);
  if (!found) throw new UsageError("--tenant must be the id of a tenant. Run: cloakroom tenants list");
  return [found];
}
