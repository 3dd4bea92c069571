import { systemClock } from "../base/clock.js";
import { connect } from "../store/postgres/connect.js";
import { openVault } from "../vault/vault.js";
import type { CommandInput } from "./operator-command.js";

export async function tenantsList({ config, say, printResult }: CommandInput): Promise<void> {
  await using vault = await openVault({ config, as: "command", announce: say, clock: systemClock });
  const sql = connect(vault.ownerAddress, { connections: 1, statementTimeout: 10_000 });
  try {
    const rows = await sql<{ tenant_id: string; name: string; state: string; created_at: Date }[]>`
      select tenant_id, name, state, created_at from tenants order by created_at, tenant_id`;
    printResult(rows.map((row) => ({ ...row, created_at: row.created_at.toISOString() })));
  } finally {
    await sql.end({ timeout: 5 });
  }
}
