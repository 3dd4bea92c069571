import type { Sql } from "../postgres/connect.js";
import type { NodeAddress } from "./node-address.js";
import { FIRST_TABLE } from "./table-placements.js";

/** The tenants of one shard of `tenants` change nodes, with their rows in all tables. */
export interface ShardMove {
  readonly shard: number;
  readonly bytes: number;
  readonly from: NodeAddress;
  readonly to: NodeAddress;
}

export interface MoveScope {
  /** Moves only what lies on nodes that are to hold no shards. */
  readonly drains: boolean;
}

interface PlannedMove {
  readonly shard: number;
  readonly bytes: number;
  readonly fromHost: string;
  readonly fromPort: number;
  readonly toHost: string;
  readonly toPort: number;
}

/** The moves that Citus proposes by size, in its order. A move that ran is not proposed again. */
export async function planMoves(sql: Sql, { drains }: MoveScope): Promise<readonly ShardMove[]> {
  const planned = await sql<PlannedMove[]>`
    with sizes as materialized (select shard_id, size from citus_shard_sizes())
    select min(p.shardid) filter (where p.table_name = ${FIRST_TABLE}::regclass) as shard,
      coalesce(sum(sizes.size), 0)::bigint as bytes, p.sourcename as "fromHost", p.sourceport as "fromPort",
      p.targetname as "toHost", p.targetport as "toPort"
    from get_rebalance_table_shards_plan(${FIRST_TABLE}::regclass, drain_only => ${drains}) with ordinality
      as p (table_name, shardid, shard_size, sourcename, sourceport, targetname, targetport, number)
    join pg_dist_shard s on s.shardid = p.shardid
    left join sizes on sizes.shard_id = p.shardid
    group by s.shardminvalue, p.sourcename, p.sourceport, p.targetname, p.targetport
    order by min(p.number)`;
  return planned.map(({ shard, bytes, fromHost, fromPort, toHost, toPort }) => ({
    shard,
    bytes,
    from: { host: fromHost, port: fromPort },
    to: { host: toHost, port: toPort },
  }));
}
