import { type VaultVerdict, verifyVault } from "../audit/verify/verify-vault.js";
import { VAULT_TENANT_ID } from "../base/ids.js";
import { readLogSnapshot } from "../store/audit/log-snapshot.js";
import { listActiveTenantsUpTo } from "../store/tenancy/operator-tenants.js";
import type { Vault } from "../vault/vault.js";

export async function vaultVerdict({ address, ownerAddress, keyring }: Vault): Promise<VaultVerdict> {
  const keys = await keyring.of(VAULT_TENANT_ID);
  const hasTenants = (await listActiveTenantsUpTo(ownerAddress, 1)).length > 0;
  return readLogSnapshot(address, VAULT_TENANT_ID, (snapshot) => verifyVault(snapshot, keys, { hasTenants }));
}
