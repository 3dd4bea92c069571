import { soleConnection } from "../store/postgres/connect.js";
import { openForCommand } from "./open-for-command.js";
import type { CommandInput } from "./operator-command.js";

export async function tenantsList({ config, say, printResult }: CommandInput): Promise<void> {
  await using vault = await openForCommand({ config, say });
  await using sql = soleConnection(vault.ownerAddress);
  const rows = await sql<{ tenant_id: string; name: string; state: string; created_at: Date }[]>`
    select tenant_id, name, state, created_at from tenants order by created_at, tenant_id`;
  printResult(rows.map((row) => ({ ...row, created_at: row.created_at.toISOString() })));
}
