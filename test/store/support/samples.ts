import type { TenantId } from "../../../src/base/ids.js";
import type { Sql } from "../../../src/store/postgres/connect.js";
import type { TestDatabase } from "../../support/databases.js";

/** All tables whose rows belong to tenants. */
export async function tenantTables(sql: Sql): Promise<string[]> {
  const rows = await sql<{ name: string }[]>`
    select c.table_name as name from information_schema.columns c
    join information_schema.tables t using (table_schema, table_name)
    where c.table_schema = 'public' and c.column_name = 'tenant_id' and t.table_type = 'BASE TABLE'
      and not (select relispartition from pg_class where oid = to_regclass(c.table_name)) order by 1`;
  return rows.map(({ name }) => name);
}

/**
 * Gives a tenant one row in each table in which it has none, whatever the columns: every reference is to the tenant's
 * own id, so rows which refer to others find them.
 */
export async function insertSamples(
  { owner, asTenant }: TestDatabase,
  tenantId: TenantId,
  tables: readonly string[],
): Promise<void> {
  let left = [...tables];
  for (let round = 0; left.length > 0 && round < tables.length; round += 1) {
    const failed: string[] = [];
    for (const table of left) {
      const statement = await sampleRow(owner, tenantId, table);
      await asTenant(tenantId, statement).catch(() => failed.push(table));
    }
    left = failed;
  }
  if (left.length > 0) throw new Error(`no row could be made for ${left.join(", ")}`);
}

/** The columns of a table that are written: PostgreSQL computes the generated ones, and accepts no values for them. */
export function writtenColumns(sql: Sql, table: string): Promise<readonly { name: string; type: string }[]> {
  return sql<{ name: string; type: string }[]>`
    select column_name as name, udt_name as type from information_schema.columns
    where table_schema = 'public' and table_name = ${table} and is_generated = 'NEVER'`;
}

async function sampleRow(sql: Sql, tenantId: TenantId, table: string): Promise<string> {
  const columns = await writtenColumns(sql, table);
  const values = columns.map(({ name, type }) => {
    const value = VALUES[type] ?? (type === "uuid" ? tenantId : undefined);
    if (value === undefined) throw new Error(`no sample for a column of type ${type}: ${table}.${name}`);
    return `'${value}'`;
  });
  return `insert into ${table} (${columns.map(({ name }) => name).join(", ")})
    select ${values.join(", ")} where not exists (select from ${table})`;
}

/** By type, as text. */
const VALUES: Readonly<Record<string, string>> = {
  text: "sample",
  inet: "192.0.2.1",
  bytea: "\\x01",
  bool: "false",
  int2: "1",
  int4: "1",
  int8: "1",
  date: "2001-01-01",
  timestamptz: "2001-01-01T00:00:00Z",
  jsonb: "{}",
  _text: "{}",
  _bytea: "{}",
};
