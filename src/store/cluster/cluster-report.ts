import type { TableUse } from "../catalogue/disk-use.js";
import { isLeased, NODES_LEASE } from "../jobs/lease.js";
import { type DatabaseAddress, type Sql, soleConnection } from "../postgres/connect.js";
import { askNodes } from "./ask-nodes.js";
import { type Cluster, type ClusterNode, findCluster } from "./find-cluster.js";
import { coordinatorTables } from "./forced-row-security.js";
import { findLoginProblems, NODE_ROLES } from "./node-roles.js";
import { isDistributed, listPlacements, type TablePlacement } from "./table-placements.js";

export interface NodeReport extends ClusterNode {
  /** Undefined if the node does not respond. */
  readonly version: string | undefined;
  readonly bytes: number;
  readonly shards: number;
  readonly connections: number;
  readonly maxConnections: number;
  /** The roles that may log in to the node. */
  readonly logins: readonly string[];
}

export interface ClusterReport {
  readonly version: string;
  readonly isDistributed: boolean;
  readonly nodes: readonly NodeReport[];
  readonly placements: readonly TablePlacement[];
  /** The distributed tables, summed over all nodes. */
  readonly tables: readonly TableUse[];
  readonly problems: readonly string[];
}

/**
 * Describes the cluster that a database coordinates; undefined if it coordinates none.
 * @param address of the coordinator, as the owner of the tables.
 */
export async function reportCluster(address: DatabaseAddress): Promise<ClusterReport | undefined> {
  await using sql = soleConnection(address);
  const cluster = await findCluster(sql);
  if (!cluster) return undefined;
  const placements = await listPlacements(sql);
  const facts = await readNodes(sql, placements);
  const nodes = cluster.nodes.map((node) => nodeReport(node, facts.get(node.address)));
  const distributed = isDistributed(placements);
  const logins = distributed ? await findLoginProblems(address, sql) : [];
  const problems = [
    ...problemsOfNodes(cluster, nodes),
    ...((await isLeased(sql, NODES_LEASE)) ? [] : [...openShards(facts, placements), ...(await openTables(sql))]),
    ...logins,
    ...problemsOfTables(placements),
  ];
  const tables = sumTables([...facts.values()]);
  return { version: cluster.version, isDistributed: distributed, nodes, placements, tables, problems };
}

interface NodeFacts {
  readonly version: string;
  readonly connections: number;
  readonly maxConnections: number;
  readonly logins: readonly string[];
  readonly tables: readonly (TableUse & {
    readonly shards: number;
    /** Shards without row-level security. */
    readonly open: number;
  })[];
}

async function readNodes(sql: Sql, placements: readonly TablePlacement[]): Promise<ReadonlyMap<string, NodeFacts>> {
  const [schema] = await sql<{ name: string }[]>`select quote_literal(current_schema()) as name`;
  // The shards of a partition have its name.
  const shard = `^(${placements.map(({ table }) => table).join("|")})(_[0-9]{4}_[0-9]{2}|_default)?_[0-9]{5,}$`;
  const results = await askNodes<NodeFacts>(
    sql,
    `select json_build_object(
      'version', current_setting('citus.version'),
      'connections', (select numbackends from pg_stat_database where datname = current_database()),
      'maxConnections', current_setting('max_connections')::int,
      'logins', (select coalesce(json_agg(rolname order by rolname), '[]') from pg_roles
        where rolcanlogin and rolname in (${NODE_ROLES.map((name) => `'${name}'`).join(", ")})),
      'tables', (select coalesce(json_agg(found), '[]') from (
        select regexp_replace(c.relname, '(_[0-9]{4}_[0-9]{2}|_default)?_[0-9]{5,}$', '') as "table", count(*) as shards,
          sum(pg_total_relation_size(c.oid)) as bytes, sum(coalesce(s.n_live_tup, 0)) as rows,
          sum(coalesce(s.n_tup_ins, 0)) as inserted,
          count(*) filter (where not (c.relrowsecurity and c.relforcerowsecurity)) as open
        from pg_class c left join pg_stat_all_tables s on s.relid = c.oid
        where c.relkind in ('r', 'p') and c.relname ~ '${shard}'
          and c.relnamespace = (select oid from pg_namespace where nspname = ${schema?.name ?? "''"})
        group by 1) found))`,
  );
  return new Map(results.flatMap(({ address, result }) => (result ? [[address, result]] : [])));
}

function nodeReport(node: ClusterNode, facts: NodeFacts | undefined): NodeReport {
  const sum = (of: "bytes" | "shards") => (facts?.tables ?? []).reduce((total, table) => total + table[of], 0);
  return {
    ...node,
    version: facts?.version,
    bytes: sum("bytes"),
    shards: sum("shards"),
    connections: facts?.connections ?? 0,
    maxConnections: facts?.maxConnections ?? 0,
    logins: facts?.logins ?? [],
  };
}

function sumTables(nodes: readonly NodeFacts[]): readonly TableUse[] {
  const sums = new Map<string, TableUse>();
  for (const { table, bytes, rows, inserted } of nodes.flatMap(({ tables }) => tables)) {
    const { bytes: b = 0, rows: r = 0, inserted: i = 0 } = sums.get(table) ?? {};
    sums.set(table, { table, bytes: b + bytes, rows: r + rows, inserted: i + inserted });
  }
  return [...sums.values()].sort((a, b) => b.bytes - a.bytes || a.table.localeCompare(b.table));
}

function problemsOfNodes({ version }: Cluster, nodes: readonly NodeReport[]): string[] {
  const problems = nodes.flatMap((node) => {
    if (!node.isActive) return [`The node ${node.address} is disabled.`];
    if (node.version === undefined) return [`The node ${node.address} does not respond.`];
    if (node.version === version) return [];
    return [`The node ${node.address} runs Citus ${node.version}, the coordinator ${version}.`];
  });
  const hasWorker = nodes.some(({ isCoordinator, holdsShards }) => !isCoordinator && holdsShards);
  return hasWorker
    ? problems
    : [...problems, "The cluster has no worker. Add one: cloakroom cluster add-node HOST:PORT"];
}

/** Shards inherit row-level security from their table, unless an operator changed them on their node. */
function openShards(facts: ReadonlyMap<string, NodeFacts>, placements: readonly TablePlacement[]): string[] {
  const ofTenants = new Set(placements.filter(({ wanted }) => wanted === "distributed").map(({ table }) => table));
  return [...facts].flatMap(([node, { tables }]) =>
    tables
      .filter(({ table, open }) => open > 0 && ofTenants.has(table))
      .map(
        ({ table, open }) =>
          `On the node ${node}, ${open} shards of ${table} lack row-level security. Run on the coordinator: alter table ${table} enable row level security, force row level security;`,
      ),
  );
}

/** While shards move, the coordinator's tables do not restrict their owner; see {@link relaxNewShards}. */
async function openTables(sql: Sql): Promise<string[]> {
  const tables = await coordinatorTables(sql, { forced: false });
  if (tables.length === 0) return [];
  return [
    `A command that moved shards was killed: new shards of ${tables.join(", ")} would not restrict the tables' owner. Run: cloakroom cluster rebalance`,
  ];
}

function problemsOfTables(placements: readonly TablePlacement[]): string[] {
  const again = "Run: cloakroom cluster distribute";
  if (!isDistributed(placements)) return [`No table is distributed: all rows lie on the coordinator. ${again}`];
  const tablesThat = (fits: (placement: TablePlacement) => boolean) =>
    placements
      .filter(fits)
      .map(({ table }) => table)
      .join(", ");
  const alone = tablesThat(({ actual }) => actual === "coordinator");
  const other = tablesThat(({ actual, wanted, isApart }) => actual !== "coordinator" && (actual !== wanted || isApart));
  const copied = tablesThat(({ actual, coordinatorBytes }) => actual !== "coordinator" && coordinatorBytes > 0);
  return [
    ...(alone ? [`Tables on the coordinator alone: ${alone}. ${again}`] : []),
    ...(other
      ? [
          `Tables that are distributed in another way than Cloakroom does: ${other}. Undistribute them, then run: cloakroom cluster distribute`,
        ]
      : []),
    ...(copied
      ? [`Tables whose old rows are left on the coordinator, deleted ones included: ${copied}. ${again}`]
      : []),
  ];
}
