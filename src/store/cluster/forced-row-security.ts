import { setTimeout as pause } from "node:timers/promises";
import type { Sql } from "../postgres/connect.js";
import { quoteName } from "../statements/sql-text.js";
import { retryingLocks } from "../transactions/lock-retries.js";
import { FIRST_TABLE } from "./table-placements.js";

/**
 * A worker receives the changes of a shard under a role that owns the new shard but does not bypass row-level security,
 * and PostgreSQL refuses changes to a table whose owner is restricted too. Citus creates shards as the coordinator's
 * own table is, which has no rows. That table, and it alone, therefore stops restricting its owner while shards move. The old
 * shards keep doing so, and new ones do as soon as they have moved. The role of the servers is restricted at all times.
 */
export async function relaxNewShards(sql: Sql): Promise<void> {
  for (const table of await coordinatorTables(sql, { forced: true })) await alterHere(sql, table, "no force");
}

/** Ends what {@link relaxNewShards} began, also after a command that was killed. */
export async function forceRowSecurity(sql: Sql): Promise<void> {
  await forceOnNodes(sql);
  for (const table of await coordinatorTables(sql, { forced: false })) await alterHere(sql, table, "force");
}

/** Tables on the coordinator whose next shards would not restrict their owner. */
export async function coordinatorTables(
  sql: Sql,
  { forced }: { readonly forced: boolean },
): Promise<readonly string[]> {
  const tables = await sql<{ name: string }[]>`
    select c.relname as name from pg_dist_partition p join pg_class c on c.oid = p.logicalrelid
    where p.colocationid = (select colocationid from pg_dist_partition where logicalrelid = to_regclass(${FIRST_TABLE}))
      and c.relnamespace = current_schema()::regnamespace and c.relkind = 'r' and c.relrowsecurity
      and c.relforcerowsecurity = ${forced}
    order by 1`;
  return tables.map(({ name }) => name);
}

/** Leaves the shards alone: Citus would lock all of them. */
async function alterHere(sql: Sql, table: string, how: "force" | "no force"): Promise<void> {
  await retryingLocks(() =>
    sql.begin(async (tx) => {
      await tx`set local citus.enable_ddl_propagation = off`;
      await tx`set local lock_timeout = 2000`;
      await tx.unsafe(`alter table ${quoteName(table)} ${how} row level security`);
    }),
  );
}

const ATTEMPTS = 30;

/** Locks no shard that restricts its owner already. */
export async function forceOnNodes(sql: Sql): Promise<void> {
  const [schema] = await sql<{ name: string }[]>`select quote_literal(current_schema()) as name`;
  const query = `do $$ declare shard regclass; begin
    perform set_config('lock_timeout', '2s', true);
    for shard in select c.oid from pg_class c where c.relkind = 'r' and c.relrowsecurity and not c.relforcerowsecurity
      and c.relname ~ '_[0-9]{5,}$' and c.relnamespace = (select oid from pg_namespace where nspname = ${schema?.name ?? "''"})
    loop execute format('alter table %s force row level security', shard); end loop;
  end $$`;
  for (let attempt = 1; ; attempt += 1) {
    const results = await sql<{ success: boolean; result: string }[]>`
      select success, result from run_command_on_all_nodes(${query}, give_warning_for_connection_errors => true)`;
    const failed = results.filter(({ success }) => !success);
    if (failed.length === 0) return;
    if (attempt === ATTEMPTS)
      throw new Error(`row-level security could not be forced on new shards: ${failed[0]?.result}`);
    await pause(100);
  }
}
