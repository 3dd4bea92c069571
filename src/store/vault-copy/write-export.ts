import { type TenantId, VAULT_TENANT_ID } from "../../base/ids.js";
import { listStoredTables, type StoredTable } from "../catalogue/stored-tables.js";
import type { Sql } from "../postgres/connect.js";
import { quoteName } from "../postgres/roles.js";
import { listActiveTenantsOn } from "../tenancy/operator-tenants.js";
import { copyOut } from "./copy-streams.js";
import { SECTION_END } from "./format.js";

/**
 * The whole store as of one moment, in sections: first rows without a tenant, then the vault's own, then each tenant's.
 * Values stay sealed and tenants' keys stay wrapped.
 * @param sql one connection, as the owner of the tables. This function owns its transaction.
 */
export async function* exportSections(sql: Sql): AsyncGenerator<Uint8Array> {
  await sql.unsafe("begin isolation level repeatable read read only");
  const tables = await listStoredTables(sql);
  for (const table of tables) if (!table.isOfTenants) yield* section(sql, table, undefined);
  for (const tenantId of [VAULT_TENANT_ID, ...(await listActiveTenantsOn(sql))]) {
    // Row-level security applies to the owner too. The literal is safe because a TenantId is a UUID.
    await sql.unsafe("set local role cloakroom_app");
    await sql.unsafe(`set local app.tenant_id = '${tenantId}'`);
    for (const table of tables) if (table.isOfTenants) yield* section(sql, table, tenantId);
    await sql.unsafe("set local role none");
  }
  await sql.unsafe("commit");
}

async function* section(
  sql: Sql,
  { name, columns }: StoredTable,
  of: TenantId | undefined,
): AsyncGenerator<Uint8Array> {
  const where = of === undefined ? "" : ` where tenant_id = '${of}'`;
  const query = `select ${columns.map(quoteName).join(", ")} from ${quoteName(name)}${where}`;
  let isEmpty = true;
  for await (const piece of copyOut(sql, query)) {
    if (isEmpty) yield Buffer.from(`${JSON.stringify({ table: name, columns })}\n`);
    isEmpty = false;
    yield piece;
  }
  if (!isEmpty) yield SECTION_END;
}
