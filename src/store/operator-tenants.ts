import { isTenantId, type TenantId } from "../base/ids.js";
import { connect, type DatabaseAddress, type Sql } from "./connect.js";

/** The tenants that are not deleted, oldest first, as whoever owns the tables may list them. */
export async function activeTenants(sql: Sql): Promise<TenantId[]> {
  const rows = await sql<{ id: string }[]>`
    select tenant_id as id from tenants where state = 'active' order by created_at, tenant_id`;
  return rows.map(({ id }) => id).filter(isTenantId);
}

/** The same, on a connection of its own. */
export async function listActiveTenants(ownerAddress: DatabaseAddress): Promise<TenantId[]> {
  const sql = connect(ownerAddress, { connections: 1, statementTimeout: 60_000 });
  try {
    return await activeTenants(sql);
  } finally {
    await sql.end({ timeout: 5 });
  }
}
