import { quoteName } from "../statements/sql-text.js";
import { DISTRIBUTION_COLUMN, FIRST_TABLE, PARTITIONED_TABLE, type TablePlacement } from "./table-placements.js";

export interface MoveStep {
  readonly table: string;
  readonly hasRows: boolean;
  /** Runs first, and locks the table. */
  readonly before: string | undefined;
  readonly move: string;
  readonly after: string | undefined;
}

/** Deletes the old copy of a table's rows from the coordinator. */
export interface ClearStep {
  readonly table: string;
  readonly clear: string;
}

/** The remaining steps. An interrupted run leaves only whole steps. */
export interface DistributionSteps {
  readonly moves: readonly MoveStep[];
  /** Run after all moves: Citus refuses to clear a table while a table on the coordinator refers to it. */
  readonly clears: readonly ClearStep[];
}

/**
 * Lists the remaining steps until all tables are in their place.
 * @param shards of each table. Absent: the database's `citus.shard_count`.
 */
export function distributionSteps(placements: readonly TablePlacement[], shards?: number): DistributionSteps {
  const moves = placements.filter(({ actual }) => actual === "coordinator");
  const leftovers = placements.filter(({ coordinatorBytes }) => coordinatorBytes > 0);
  return {
    moves: moves.map((placement) => moveOf(placement, shards)),
    clears: leftovers.toReversed().map(({ table }) => ({
      table,
      clear: `select truncate_local_data_after_distributing_table('${table}')`,
    })),
  };
}

export function operatorStatements({ moves, clears }: DistributionSteps): readonly string[] {
  const moving = moves.flatMap(({ before, move, after }) => {
    const all = [before, move, after].filter((statement) => statement !== undefined);
    return all.length === 1 ? all : ["begin", ...all, "commit"];
  });
  return [...moving, ...clears.map(({ clear }) => clear)];
}

/**
 * Citus copies rows with COPY, which PostgreSQL refuses to the owner of a table with forced row-level security. The
 * transaction therefore stops forcing it on the owner. The application's role stays under the policy, and waits for the
 * lock.
 */
function moveOf({ table, wanted, coordinatorBytes }: TablePlacement, shards: number | undefined): MoveStep {
  const name = quoteName(table);
  const hasRows = coordinatorBytes > 0;
  if (wanted === "reference") {
    const before = hasRows ? `lock table ${name} in access exclusive mode` : undefined;
    return { table, hasRows, before, move: `select create_reference_table('${table}')`, after: undefined };
  }
  const move = `select create_distributed_table('${table}', '${DISTRIBUTION_COLUMN}', ${groupOf(table, shards)})`;
  const force = (how: string) => {
    const change = `${how} row level security`;
    if (!hasRows) return undefined;
    return table === PARTITIONED_TABLE ? ofAllPartitions(name, change) : `alter table ${name} ${change}`;
  };
  return { table, hasRows, before: force("no force"), move, after: force("force") };
}

/** Citus copies the rows of each partition by itself. */
function ofAllPartitions(name: string, change: string): string {
  return `do $$ declare t regclass; begin
  for t in select relid from pg_partition_tree('${name}') loop
    execute format('alter table %s ${change}', t);
  end loop;
end $$`;
}

function groupOf(table: string, shards: number | undefined): string {
  if (table !== FIRST_TABLE) return `colocate_with => '${FIRST_TABLE}'`;
  return `colocate_with => 'none'${shards === undefined ? "" : `, shard_count => ${shards}`}`;
}
