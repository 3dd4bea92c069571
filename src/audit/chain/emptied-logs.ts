import type { DatabaseAddress } from "../../store/postgres/connect.js";
import { listEmptiedLogs } from "../../store/tenancy/operator-tenants.js";

/** A sentence for each kind of log that somebody emptied in the database. `cloakroom audit verify` finds the same. */
export async function emptiedLogs(ownerAddress: DatabaseAddress): Promise<readonly string[]> {
  const { tenants, isVaultEmpty } = await listEmptiedLogs(ownerAddress);
  const [first] = tenants;
  return [
    ...(isVaultEmpty ? ["The vault's own log was emptied: there are tenants, and no entry of its chain."] : []),
    ...(first
      ? [`The logs of ${tenants.length} tenants were emptied in the database, the first that of ${first}.`]
      : []),
  ];
}
