import type { Sql } from "../postgres/connect.js";

export interface NodeResult<Result> {
  readonly id: number;
  readonly address: string;
  /** Undefined if the node is unreachable or refuses. */
  readonly result: Result | undefined;
}

/**
 * Runs a query on every node of the cluster, the coordinator included.
 * @param query returns one row with one JSON value.
 */
export async function askNodes<Result>(sql: Sql, query: string): Promise<readonly NodeResult<Result>[]> {
  return sql<NodeResult<Result>[]>`
    select a.nodeid as id, coalesce(n.nodename || ':' || n.nodeport, 'coordinator') as address,
      case when a.success then a.result::json end as result
    from run_command_on_all_nodes(${query}, give_warning_for_connection_errors => true) a
    left join pg_dist_node n on n.nodeid = a.nodeid
    order by n.groupid, n.nodeid`;
}
