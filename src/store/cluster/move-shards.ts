import { setTimeout as pause } from "node:timers/promises";
import { NODES_LEASE, SCHEMA_LEASE, withFreeLease, withLease } from "../jobs/lease.js";
import { type DatabaseAddress, type Sql, soleConnection } from "../postgres/connect.js";
import { databaseErrorCode } from "../postgres/database-error.js";
import { DatabaseSetupError } from "../postgres/roles.js";
import { retryingLocks } from "../transactions/lock-retries.js";
import { askNodes } from "./ask-nodes.js";
import { requireReachable, withOwner } from "./distribute.js";
import { requireCluster } from "./find-cluster.js";
import { forceOnNodes, forceRowSecurity, relaxNewShards } from "./forced-row-security.js";
import { type NodeAddress, nodeAddressText } from "./node-address.js";
import { copyReferenceTables } from "./reference-tables.js";
import { type MoveScope, planMoves, type ShardMove } from "./shard-moves.js";
import { isDistributed, listPlacements } from "./table-placements.js";

export interface MoveOptions extends MoveScope {
  /** Copies each shard while its writes wait. Otherwise they wait for its last changes only. */
  readonly blocksWrites: boolean;
  readonly announce: (line: string) => void;
}

const LEASE_SECONDS = 20;

/**
 * Runs a change of the cluster's nodes unless another one runs.
 * @param options mayBeSilent is a node that the change can do without. All others must respond.
 * @throws {DatabaseSetupError} if one does not, another change runs, or Citus moves shards by itself.
 */
export async function asOnlyChange<T>(
  address: DatabaseAddress,
  run: (sql: Sql) => Promise<T>,
  { mayBeSilent }: { readonly mayBeSilent?: NodeAddress } = {},
): Promise<T> {
  const isNeeded = (node: string) => !mayBeSilent || node !== `${mayBeSilent.host}:${mayBeSilent.port}`;
  return withOwner(address, async (sql) => {
    const { nodes } = await requireCluster(sql);
    await requireReachable(sql, { nodes: nodes.filter((node) => isNeeded(node.address)) });
    await requireSuperuser(sql, isNeeded);
    await requireNoJob(sql);
    const done = await withFreeLease(address, NODES_LEASE, LEASE_SECONDS, async () => ({ result: await run(sql) }));
    if (done) return done.result;
    throw new DatabaseSetupError(
      `Another command changes the nodes of this cluster. Wait until it ends. If it was killed, wait ${LEASE_SECONDS} seconds, then run this again.`,
    );
  });
}

/**
 * Citus reads the rows of a shard that it copies as the login that moves it. Row-level security hides all of them from
 * the owner of the tables: nothing would be copied, no error raised, and the old shard dropped.
 */
async function requireSuperuser(sql: Sql, isNeeded: (node: string) => boolean): Promise<void> {
  const found = await askNodes<boolean>(sql, "select to_json(rolsuper) from pg_roles where rolname = current_user");
  const without = found
    .filter(({ address, result }) => (isNeeded(address) ? result !== true : result === false))
    .map(({ address }) => address);
  if (without.length === 0) return;
  throw new DatabaseSetupError(
    `This command copies the rows of all tenants, so it needs a login that row-level security does not restrict. Set MIGRATE_DATABASE_URL, for this command alone, to a superuser of the coordinator. On these nodes the present login is not a superuser: ${without.join(", ")}`,
  );
}

async function requireNoJob(sql: Sql): Promise<void> {
  const [job] = await sql<{ id: number }[]>`
    select job_id as id from pg_dist_background_job where state in ('scheduled', 'running', 'failing', 'cancelling')`;
  if (!job) return;
  throw new DatabaseSetupError(
    `Citus moves shards already, in its job ${job.id}. Wait for it (select citus_rebalance_wait()), or end it: select citus_rebalance_stop();`,
  );
}

/**
 * Moves shards until Citus proposes no further move, while servers run. Each move is complete or has not happened, and
 * the next run continues with those that are left.
 * @returns the moves that ran.
 */
export async function moveShards(
  address: DatabaseAddress,
  sql: Sql,
  { drains, blocksWrites, announce }: MoveOptions,
): Promise<readonly ShardMove[]> {
  await requireDistributed(sql);
  await forceRowSecurity(sql);
  await copyReferenceTables(sql);
  const moves = await planMoves(sql, { drains });
  if (moves.length > 0 && !blocksWrites) await requireLogicalWal(sql, moves);
  await using mover = soleConnection(address, { statementTimeout: 0 });
  // If this command is killed, the move ends with it. A writer that holds a shard must not delay others for longer.
  await mover`set client_connection_check_interval = '1s'`;
  await mover`set lock_timeout = '30s'`;
  try {
    for (const [index, move] of moves.entries()) {
      const name = `${index + 1} of ${moves.length}, from ${nodeAddressText(move.from)} to ${nodeAddressText(move.to)}`;
      const runs = withLease(address, SCHEMA_LEASE, LEASE_SECONDS, async () => {
        if (!blocksWrites) await relaxNewShards(sql);
        await runMove(mover, move, blocksWrites);
        await forceOnNodes(sql);
      });
      await whileReporting(sql, { name, bytes: move.bytes, announce }, runs);
      announce(`Moved ${name}: ${inMegabytes(move.bytes)}`);
    }
  } catch (error) {
    await forceRowSecurity(sql).catch(() => announce(UNFORCED));
    throw error;
  }
  await forceRowSecurity(sql).catch(() => {
    throw new DatabaseSetupError(UNFORCED);
  });
  await dropOldCopies(sql, announce);
  return moves;
}

const UNFORCED =
  "Row-level security could not be forced on all new shards, so it does not restrict the tables' owner there. Run this again.";

export async function requireDistributed(sql: Sql): Promise<void> {
  if (isDistributed(await listPlacements(sql))) return;
  throw new DatabaseSetupError(
    "No table is distributed: all rows lie on the coordinator. Run: cloakroom cluster distribute",
  );
}

async function requireLogicalWal(sql: Sql, moves: readonly ShardMove[]): Promise<void> {
  const used = new Set(moves.flatMap(({ from, to }) => [from, to]).map(({ host, port }) => `${host}:${port}`));
  const levels = await askNodes<string>(sql, "select to_json(current_setting('wal_level'))");
  const other = levels.filter(({ address, result }) => used.has(address) && result !== "logical");
  if (other.length === 0) return;
  throw new DatabaseSetupError(
    `Moves beside writers need wal_level = logical. Set it and restart the nodes: ${other.map(({ address }) => address).join(", ")}. Or run this again with --block-writes: writes of a shard's tenants then wait while it is copied.`,
  );
}

async function runMove(mover: Sql, { shard, from, to }: ShardMove, blocksWrites: boolean): Promise<void> {
  const mode = blocksWrites ? "block_writes" : "force_logical";
  const LOCK_ATTEMPTS = 3;
  try {
    await retryingLocks(
      () => mover`
        select citus_move_shard_placement(${shard}, ${from.host}, ${from.port}, ${to.host}, ${to.port}, ${mode})`,
      LOCK_ATTEMPTS,
    );
  } catch (error) {
    const reason = error instanceof Error ? error.message : databaseErrorCode(error);
    throw new DatabaseSetupError(
      `A move from ${nodeAddressText(from)} to ${nodeAddressText(to)} did not finish: ${reason}\nNothing is lost: its rows are where they were. Run this again to continue.`,
    );
  }
}

const REPORT_EVERY_MS = 5_000;

interface Reported {
  readonly name: string;
  readonly bytes: number;
  readonly announce: MoveOptions["announce"];
}

/** Announces how far a move is until it ends. */
async function whileReporting(sql: Sql, { name, bytes, announce }: Reported, runs: Promise<void>): Promise<void> {
  const ended = runs.then(
    () => true,
    () => true,
  );
  while (!(await Promise.race([ended, pause(REPORT_EVERY_MS, false)]))) {
    const [progress] = await sql<{ copied: number; status: string }[]>`
      select sum(target_shard_size)::bigint as copied, lower(max(status)) as status from get_rebalance_progress()
      where progress = 1`.catch(() => []);
    if (progress?.status) {
      announce(`Moving ${name}: ${progress.status}, ${inMegabytes(progress.copied)} of ${inMegabytes(bytes)}`);
    }
  }
  await runs;
}

function inMegabytes(bytes: number): string {
  return `${(bytes / 1_000_000).toFixed(1)} MB`;
}

/** Until then, rows that are deleted from now on stay readable in the old files. */
async function dropOldCopies(sql: Sql, announce: MoveOptions["announce"]): Promise<void> {
  const ATTEMPTS = 10;
  for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
    await sql`call citus_cleanup_orphaned_resources()`;
    const [left] = await sql<{ n: number }[]>`select count(*)::int as n from pg_dist_cleanup`;
    if (left?.n === 0) return;
    await pause(1_000);
  }
  announce("Old copies of moved shards are still in use. Citus removes them when they no longer are.");
}
