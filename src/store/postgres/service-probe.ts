import { randomUUID } from "node:crypto";
import type { Sql } from "./connect.js";
import { isDiskFull } from "./disk-probe.js";

export interface ServiceProbe {
  /** By the database's clock. */
  readonly time: Date;
  readonly nodes: number;
  /** The number of nodes that fail their tenants. */
  readonly failing: number;
  /** Whether a failing node refuses writes. */
  readonly refusesWrites: boolean;
}

/**
 * Reads and writes as a tenant does, on each node that holds tenants, and rolls back. The tenants are made up: reads
 * find no row, and writes are never committed.
 * @throws if the database itself does not respond.
 */
export async function probeService(sql: Sql): Promise<ServiceProbe> {
  const [clock] = await sql<{ now: Date; isCluster: boolean }[]>`
    select clock_timestamp() as now, to_regclass('pg_dist_partition') is not null as "isCluster"`;
  if (!clock) throw new Error("clock_timestamp() returned no row");
  const tenants = clock.isCluster ? await tenantsByNode(sql) : [randomUUID()];
  const errors: unknown[] = [];
  for (const tenantId of tenants) {
    // One after the other, because they share a connection.
    await serveOnce(sql, tenantId).catch((error: unknown) => errors.push(error));
  }
  return {
    time: clock.now,
    nodes: tenants.length,
    failing: errors.length,
    refusesWrites: errors.some(isDiskFull),
  };
}

/** Enough to find a tenant for each of ten nodes, with a failure rate of 10^-11. */
const MADE_UP = 256;

/** Makes up tenants until each node has one. One tenant if the vault is not distributed over the cluster. */
async function tenantsByNode(sql: Sql): Promise<readonly string[]> {
  const [vault] = await sql`
    select 1 from pg_dist_partition where logicalrelid = to_regclass('tenants') and partmethod = 'h'`;
  if (!vault) return [randomUUID()];
  const rows = await sql<{ tenantId: string }[]>`
    with made as materialized (
      select id, get_shard_id_for_distribution_column('tenants', id) as shardid
      from (select gen_random_uuid() as id from generate_series(1, ${MADE_UP}::int)) ids
    )
    select distinct on (groupid) id as "tenantId" from made join pg_dist_placement using (shardid) order by groupid`;
  return rows.map(({ tenantId }) => tenantId);
}

class RolledBack extends Error {}

async function serveOnce(sql: Sql, tenantId: string): Promise<void> {
  try {
    await sql.begin(async (tx) => {
      // A cluster propagates this to its nodes, but not a setting made by a function.
      await tx.unsafe(`set local app.tenant_id = '${tenantId}'`);
      await tx`select id from tokens where tenant_id = ${tenantId} and id = ${tenantId}`;
      await tx`insert into due ${tx({ tenant_id: tenantId, kind: "probe", due_at: new Date(0) })}`;
      throw new RolledBack();
    });
  } catch (error) {
    if (!(error instanceof RolledBack)) throw error;
  }
}
