import type { Sql } from "../postgres/connect.js";

export interface StoredTable {
  readonly name: string;
  readonly columns: readonly string[];
  readonly isOfTenants: boolean;
}

/** Bookkeeping: running work and applied migrations. */
const LEFT_OUT = ["leases", "migrations"];

/** Lists all tables of the schema except bookkeeping and partitions, each after the tables that its foreign keys refer to. */
export async function listStoredTables(sql: Sql): Promise<readonly StoredTable[]> {
  const rows = await sql<{ name: string; columns: string[] }[]>`
    select table_name::text as name, array_agg(column_name::text order by ordinal_position) as columns
    from information_schema.columns join information_schema.tables t using (table_schema, table_name)
    where table_schema = current_schema() and t.table_type = 'BASE TABLE' and table_name::text <> all(${LEFT_OUT}::text[])
      and is_generated = 'NEVER' and not exists (
        select from pg_class where oid = to_regclass(quote_ident(table_name)) and relispartition
      )
    group by table_name order by table_name`;
  const references = await sql<{ from: string; to: string }[]>`
    select f.relname::text as "from", t.relname::text as "to" from pg_constraint
    join pg_class f on f.oid = conrelid join pg_class t on t.oid = confrelid
    where contype = 'f' and connamespace = current_schema()::regnamespace and conrelid <> confrelid`;
  const left = rows.map(({ name, columns }) => ({ name, columns, isOfTenants: columns.includes("tenant_id") }));
  const ordered: StoredTable[] = [];
  while (left.length > 0) {
    const waits = (name: string) => references.some(({ from, to }) => from === name && left.some((t) => t.name === to));
    const index = left.findIndex(({ name }) => !waits(name));
    const [next] = left.splice(Math.max(index, 0), 1);
    if (next) ordered.push(next);
  }
  return ordered;
}
