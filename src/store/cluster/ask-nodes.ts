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
  const answers = await sql<{ id: number; address: string; result: Result | null }[]>`
    select a.nodeid as id, coalesce(n.nodename || ':' || n.nodeport, 'coordinator') as address,
      case when a.success then a.result::json end as result
    from run_command_on_all_nodes(${query}, give_warning_for_connection_errors => true) a
    left join pg_dist_node n on n.nodeid = a.nodeid
    order by n.groupid, n.nodeid`;
  return answers.map(({ result, ...node }) => ({ ...node, result: result ?? undefined }));
}

/** The ids of the nodes that respond, and let the coordinator in. */
export async function findReachable(sql: Sql): Promise<ReadonlySet<number>> {
  const answers = await askNodes(sql, "select to_json(true)");
  return new Set(answers.flatMap(({ id, result }) => (result === undefined ? [] : [id])));
}
