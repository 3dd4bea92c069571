import { listStoredTables } from "../catalogue/stored-tables.js";
import type { Sql } from "../postgres/connect.js";

/** The distribution column of tenant tables. It keeps all rows of a tenant on one node. */
export const DISTRIBUTION_COLUMN = "tenant_id";

/** The table that the shards of all other tenant tables are colocated with. */
export const FIRST_TABLE = "tenants";

export const PARTITIONED_TABLE = "audit_logs";

/** Tables without tenants that statements join to a tenant's rows. Each node has a copy. */
const REFERENCE_TABLES: readonly string[] = ["official_formulas"];

/** Where the rows of a table are. `elsewhere`: distributed in a way that Cloakroom does not use. */
export type Placement = "coordinator" | "distributed" | "reference" | "elsewhere";

export interface TablePlacement {
  readonly table: string;
  readonly wanted: "distributed" | "reference";
  readonly actual: Placement;
  /** Distributed, but not colocated with `tenants`. */
  readonly isApart: boolean;
  /**
   * Bytes of rows in the coordinator's own storage. Before the distribution these are the table's rows; afterwards they
   * are old copies that no statement sees.
   */
  readonly coordinatorBytes: number;
}

/**
 * Lists the tables that belong on the nodes of a cluster, including all tables with the column tenant_id: `tenants`
 * first, then each table after those that it refers to.
 */
export async function listNodeTables(sql: Sql): Promise<readonly Pick<TablePlacement, "table" | "wanted">[]> {
  const stored = (await listStoredTables(sql)).filter(
    ({ name, isOfTenants }) => isOfTenants || REFERENCE_TABLES.includes(name),
  );
  const first = stored.filter(({ name }) => name === FIRST_TABLE);
  return [...first, ...stored.filter(({ name }) => name !== FIRST_TABLE)].map(({ name, isOfTenants }) => ({
    table: name,
    wanted: isOfTenants ? "distributed" : "reference",
  }));
}

/** Finds where the tables of {@link listNodeTables} are. The database must have the Citus extension. */
export async function listPlacements(sql: Sql): Promise<readonly TablePlacement[]> {
  const found = await sql<FoundTable[]>`
    select c.relname as name, p.partmethod as method, p.repmodel as replication, p.colocationid as colocation,
      case p.partmethod when 'h' then column_to_column_name(p.logicalrelid, p.partkey) end as column,
      greatest(pg_relation_size(c.oid), (select sum(pg_relation_size(relid)) from pg_partition_tree(c.oid)))::bigint as bytes
    from pg_class c left join pg_dist_partition p on p.logicalrelid = c.oid
    where c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'p') and not c.relispartition`;
  const tables = new Map(found.map((table) => [table.name, table]));
  const colocation = tables.get(FIRST_TABLE)?.colocation;
  return (await listNodeTables(sql)).map((wanted) => {
    const found = tables.get(wanted.table);
    const actual = placementOf(found);
    return {
      ...wanted,
      actual,
      isApart: actual === "distributed" && found?.colocation !== colocation,
      coordinatorBytes: found?.bytes ?? 0,
    };
  });
}

interface FoundTable {
  readonly name: string;
  /** `h`: distributed by hash; `n`: no distribution column; null: not managed by Citus. */
  readonly method: string | null;
  /** `t`: a reference table. */
  readonly replication: string | null;
  readonly colocation: number | null;
  readonly column: string | null;
  readonly bytes: number;
}

function placementOf(table: FoundTable | undefined): Placement {
  if (!table || table.method === null) return "coordinator";
  if (table.method === "h") return table.column === DISTRIBUTION_COLUMN ? "distributed" : "elsewhere";
  return table.method === "n" && table.replication === "t" ? "reference" : "elsewhere";
}

/** Whether the vault is distributed. A cluster can also serve it from the coordinator alone. */
export function isDistributed(placements: readonly TablePlacement[]): boolean {
  return placements.some(({ table, actual }) => table === FIRST_TABLE && actual === "distributed");
}
