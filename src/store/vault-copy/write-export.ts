import { type TenantId, VAULT_TENANT_ID } from "../../base/ids.js";
import { listLogPartitions } from "../audit/log-partitions.js";
import { listStoredTables, type StoredTable } from "../catalogue/stored-tables.js";
import { ranMigrations } from "../migration-ledger.js";
import type { Sql } from "../postgres/connect.js";
import { quoteName } from "../statements/sql-text.js";
import { listActiveTenantsOn } from "../tenancy/operator-tenants.js";
import { listRootKeys, type RootKeyRow } from "../tenancy/root-keys.js";
import { retryingLocks } from "../transactions/lock-retries.js";
import { copyOut } from "./copy-streams.js";
import { SECTION_END } from "./format.js";

export interface StoreSnapshot {
  /** By the database's clock. */
  readonly takenAt: Date;
  /** The end of the database's log of changes (LSN) just after that moment. */
  readonly position: string;
  readonly postgresVersion: string;
  readonly migrations: readonly string[];
  readonly logPartitions: readonly string[];
  readonly rootKeys: readonly RootKeyRow[];
  /** The tenants that are not deleted, the vault itself included. */
  readonly tenants: readonly TenantId[];
  readonly tables: readonly StoredTable[];
}

export type OnRows = (table: string, rows: Uint8Array) => void;

/**
 * Begins the transaction that {@link snapshotSections} reads in, and ends with the connection.
 * @param sql one connection that is not replaced when it is lost, as the owner of the tables: on another connection the
 * remaining sections would be empty, because no tenant is set there.
 */
export function beginSnapshot(sql: Sql): Promise<StoreSnapshot> {
  return retryingLocks(async () => {
    const tables = await listStoredTables(sql);
    try {
      await sql.unsafe("begin isolation level repeatable read read only");
      // A slow destination makes this transaction wait between two tables.
      await sql.unsafe("set local idle_in_transaction_session_timeout = 0");
      // Keeps migrations away: a table that is rewritten after the snapshot appears empty in it. LOCK takes no snapshot,
      // so the transaction's begins with the next statement.
      await sql.unsafe(`lock table ${tables.map(({ name }) => quoteName(name)).join(", ")} in access share mode`);
      const [now] = await sql<{ at: Date; position: string; version: string }[]>`
        select now() as at, pg_current_wal_lsn()::text as position, current_setting('server_version') as version`;
      if (!now) throw new Error("the database did not say what time it is");
      return {
        takenAt: now.at,
        position: now.position,
        postgresVersion: now.version,
        migrations: await ranMigrations(sql),
        logPartitions: (await listLogPartitions(sql)).map(({ name }) => name),
        rootKeys: await listRootKeys(sql),
        tenants: [VAULT_TENANT_ID, ...(await listActiveTenantsOn(sql))],
        tables: await listStoredTables(sql),
      };
    } catch (error) {
      await sql.unsafe("rollback").catch(() => {});
      throw error;
    }
  });
}

/**
 * The whole snapshot in sections: first rows without a tenant, then the vault's own, then each tenant's. Values stay
 * sealed and tenants' keys stay wrapped.
 */
export async function* snapshotSections(
  sql: Sql,
  { tables, tenants }: StoreSnapshot,
  onRows: OnRows,
): AsyncGenerator<Uint8Array> {
  for (const table of tables) if (!table.isOfTenants) yield* section(sql, table, undefined, onRows);
  for (const tenantId of tenants) {
    // Row-level security applies to the owner too. The literal is safe because a TenantId is a UUID.
    await sql.unsafe("set local role cloakroom_app");
    await sql.unsafe(`set local app.tenant_id = '${tenantId}'`);
    for (const table of tables) if (table.isOfTenants) yield* section(sql, table, tenantId, onRows);
    await sql.unsafe("set local role none");
  }
  await sql.unsafe("commit");
}

async function* section(
  sql: Sql,
  { name, columns }: StoredTable,
  of: TenantId | undefined,
  onRows: OnRows,
): AsyncGenerator<Uint8Array> {
  const where = of === undefined ? "" : ` where tenant_id = '${of}'`;
  const query = `select ${columns.map(quoteName).join(", ")} from ${quoteName(name)}${where}`;
  let isEmpty = true;
  for await (const piece of copyOut(sql, query)) {
    if (isEmpty) yield Buffer.from(`${JSON.stringify({ table: name, columns })}\n`);
    isEmpty = false;
    onRows(name, piece);
    yield piece;
  }
  if (!isEmpty) yield SECTION_END;
}
