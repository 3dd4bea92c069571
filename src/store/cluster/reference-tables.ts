import type { Sql } from "../postgres/connect.js";

/** Copies the tables without tenants to nodes that were added since. Citus moves no shard to a node that lacks them. */
export async function copyReferenceTables(sql: Sql): Promise<void> {
  const [missing] = await sql<{ n: number }[]>`
    select count(*)::int as n
    from pg_dist_partition t join pg_dist_shard s using (logicalrelid), pg_dist_node node
    where t.partmethod = 'n' and t.repmodel = 't' and node.noderole = 'primary' and node.isactive
      and not exists (select from pg_dist_placement p where p.shardid = s.shardid and p.groupid = node.groupid)`;
  if (missing?.n === 0) return;
  await sql`select replicate_reference_tables('block_writes')`;
}
