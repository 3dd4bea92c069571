import { setTimeout as pause } from "node:timers/promises";
import { SCHEMA_LEASE, withLease } from "../jobs/lease.js";
import { APPLICATION_PREFIX, type DatabaseAddress, type Sql, soleConnection } from "../postgres/connect.js";
import { DatabaseSetupError } from "../postgres/roles.js";
import { retryingLocks } from "../transactions/lock-retries.js";
import { findReachable } from "./ask-nodes.js";
import { type DistributionSteps, distributionSteps, type MoveStep, operatorStatements } from "./distribution-steps.js";
import { type Cluster, findCluster, requireCluster } from "./find-cluster.js";
import { ensureNodeRoles, missingLogins } from "./node-roles.js";
import { FIRST_TABLE, isDistributed, listPlacements, type TablePlacement } from "./table-placements.js";

export interface DistributeOptions {
  /** Shards of each table. Absent: as many as the database's `citus.shard_count`. */
  readonly shards?: number | undefined;
  readonly announce: (line: string) => void;
}

export interface Distribution {
  readonly cluster: Cluster;
  readonly moved: readonly string[];
  readonly placements: readonly TablePlacement[];
}

const LEASE_SECONDS = 60;

/**
 * Moves the tables of a vault with their rows to the nodes of its cluster, and lets the roles log in there. It skips
 * finished steps, so a second run completes an interrupted one. Servers must be stopped: during the move some
 * statements find their tables in two places.
 * @param address of the coordinator, as the owner of the tables.
 * @throws {DatabaseSetupError} if the database coordinates no cluster, servers are connected, a role cannot log in to a
 * node, or the login lacks a right.
 */
export async function distribute(
  address: DatabaseAddress,
  { shards, announce }: DistributeOptions,
): Promise<Distribution> {
  return withOwner(address, async (sql) => {
    const cluster = await requireCluster(sql);
    await requireSameShards(sql, shards);
    requireWorker(cluster);
    await requireReachable(sql, cluster);
    const { moves } = distributionSteps(await listPlacements(sql));
    if (moves.length > 0) await requireAlone(sql);
    return withLease(address, SCHEMA_LEASE, LEASE_SECONDS, async () => {
      await ensureNodeRoles(address, sql);
      const moved = await runSteps(sql, distributionSteps(await listPlacements(sql), shards), announce);
      return { cluster, moved, placements: await listPlacements(sql) };
    });
  });
}

/** The statements that {@link distribute} would run now, for the operator to read or run. */
export async function distributionStatements(address: DatabaseAddress, shards?: number): Promise<readonly string[]> {
  return withOwner(address, async (sql) => {
    await requireCluster(sql);
    await requireSameShards(sql, shards);
    const steps = distributionSteps(await listPlacements(sql), shards);
    return [...(await missingLogins(sql)), ...operatorStatements(steps)];
  });
}

/** Whether a database coordinates a cluster over which the vault is not distributed yet. */
export async function awaitsDistribution(address: DatabaseAddress): Promise<boolean> {
  return withOwner(address, async (sql) => {
    if (!(await findCluster(sql))) return false;
    return !isDistributed(await listPlacements(sql));
  });
}

/**
 * Distributes the tables that a migration created on the coordinator of a distributed vault. Servers of the previous
 * version keep running meanwhile: they do not know these tables.
 * @param sql the owner of the tables, under the lease of migrations.
 */
export async function distributeNewTables(sql: Sql, announce: (line: string) => void): Promise<void> {
  if (!(await findCluster(sql))) return;
  const placements = await listPlacements(sql);
  if (isDistributed(placements)) await runSteps(sql, distributionSteps(placements), announce);
}

/** Runs statements as the owner of the tables, without a timeout. */
export async function withOwner<T>(address: DatabaseAddress, run: (sql: Sql) => Promise<T>): Promise<T> {
  await using sql = soleConnection(address, { statementTimeout: 0 });
  return await run(sql);
}

async function runSteps(
  sql: Sql,
  { moves, clears }: DistributionSteps,
  announce: (line: string) => void,
): Promise<string[]> {
  for (const [index, step] of moves.entries()) {
    const rows = await retryingLocks(() => move(sql, step));
    const withRows = rows === undefined ? "" : `, with ${rows.toLocaleString("en")} rows`;
    announce(`Distributed ${step.table} (${index + 1} of ${moves.length})${withRows}`);
  }
  for (const { table, clear } of clears) {
    await retryingLocks(() => sql.unsafe(clear));
    announce(`Removed the old copy of the rows of ${table} from the coordinator`);
  }
  return moves.map(({ table }) => table);
}

/** @returns how many rows were moved; undefined if the table was empty. */
async function move(sql: Sql, { table, hasRows, before, move, after }: MoveStep): Promise<number | undefined> {
  let rows: number | undefined;
  await sql.begin(async (tx) => {
    const count = async () => {
      const [counted] = await tx<{ n: number }[]>`select count(*) as n from ${tx(table)}`;
      return counted?.n;
    };
    if (before) await tx.unsafe(before);
    if (hasRows) rows = await count();
    await tx.unsafe(move);
    if (hasRows) requireSame(table, rows, await count());
    if (after) await tx.unsafe(after);
  });
  return rows;
}

function requireSame(table: string, before: number | undefined, after: number | undefined): void {
  if (before === after) return;
  throw new Error(`${table} had ${before} rows and has ${after} after its distribution, which was rolled back`);
}

/** Only for a distribution: the commands that move shards also bring back the only worker, or take it out. */
function requireWorker({ nodes }: Cluster): void {
  if (nodes.some(({ isCoordinator, holdsShards }) => !isCoordinator && holdsShards)) return;
  throw new DatabaseSetupError("The cluster has no worker. Add one: cloakroom cluster add-node HOST:PORT");
}

/** A table gets shards on every node, so every node must respond. */
export async function requireReachable(sql: Sql, { nodes }: Pick<Cluster, "nodes">): Promise<void> {
  const reachable = await findReachable(sql);
  const silent = nodes.filter(({ id, isActive }) => isActive && !reachable.has(id)).map(({ address }) => address);
  if (silent.length === 0) return;
  throw new DatabaseSetupError(
    `Nodes of the cluster do not let the coordinator in, or do not respond: ${silent.join(", ")}. Start them or correct their pg_hba.conf, then run this again.`,
  );
}

/** All tables have as many shards as `tenants`, which sets the number when it is distributed. */
async function requireSameShards(sql: Sql, wanted: number | undefined): Promise<void> {
  const [counted] = await sql<{ shards: number }[]>`
    select count(*)::int as shards from pg_dist_shard where logicalrelid = to_regclass(${FIRST_TABLE})`;
  const shards = counted?.shards ?? 0;
  if (wanted === undefined || shards === 0 || shards === wanted) return;
  throw new DatabaseSetupError(`The tables have ${shards} shards each already, which --shards cannot change.`);
}

/** A session is still listed for a moment after it ends. */
const GONE_WITHIN_MS = 3_000;

/** The application name is all that other users' sessions show. It is ours even if the operator chose another. */
async function requireAlone(sql: Sql): Promise<void> {
  const until = performance.now() + GONE_WITHIN_MS;
  for (;;) {
    const [found] = await sql<{ sessions: number }[]>`
      select count(*)::int as sessions from pg_stat_activity
      where datname = current_database() and (starts_with(application_name, ${APPLICATION_PREFIX}) or application_name = current_setting('application_name'))
        and pid <> pg_backend_pid()`;
    const sessions = found?.sessions ?? 0;
    if (sessions === 0) return;
    if (performance.now() > until) {
      throw new DatabaseSetupError(
        `Servers or commands of Cloakroom are connected to this database (${sessions} sessions). Stop them, then run this again.`,
      );
    }
    await pause(200);
  }
}
