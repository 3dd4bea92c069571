import type { DatabaseAddress, Sql } from "../postgres/connect.js";
import { DatabaseSetupError } from "../postgres/roles.js";
import { findReachable } from "./ask-nodes.js";
import { type ClusterNode, requireCluster } from "./find-cluster.js";
import { asOnlyChange, type MoveOptions, moveShards, requireDistributed } from "./move-shards.js";
import { type NodeAddress, nodeAddressText } from "./node-address.js";
import { ensureNodeRoles } from "./node-roles.js";
import { copyReferenceTables } from "./reference-tables.js";
import { planMoves, type ShardMove } from "./shard-moves.js";
import { FIRST_TABLE, isDistributed, listPlacements } from "./table-placements.js";

export interface AddedNode {
  /** False if the cluster had the node already. */
  readonly added: boolean;
  /** The moves that would give it its share. */
  readonly moves: readonly ShardMove[];
}

/**
 * Adds a node, or uses one again that was drained. It holds no shard until {@link rebalance} runs.
 * @param address of the coordinator, as the owner of the tables.
 */
export async function addNode(address: DatabaseAddress, node: NodeAddress): Promise<AddedNode> {
  return asOnlyChange(address, async (sql) => {
    const known = await findNode(sql, node);
    if (!known) await orRefused(sql`select citus_add_node(${node.host}, ${node.port})`);
    else if (!known.isActive) await orRefused(sql`select citus_activate_node(${node.host}, ${node.port})`);
    else if (!known.holdsShards) await setHoldsShards(sql, node, true);
    await ensureNodeRoles(address, sql);
    await copyReferenceTables(sql);
    const hasShards = isDistributed(await listPlacements(sql));
    return { added: !known, moves: hasShards ? await planMoves(sql, { drains: false }) : [] };
  });
}

/** Moves shards between nodes until each has its share. @returns the moves that ran. */
export async function rebalance(
  address: DatabaseAddress,
  options: Omit<MoveOptions, "drains">,
): Promise<readonly ShardMove[]> {
  return asOnlyChange(address, (sql) => moveShards(address, sql, { ...options, drains: false }));
}

/** The moves that {@link rebalance} would run now. */
export async function plannedRebalance(address: DatabaseAddress): Promise<readonly ShardMove[]> {
  return asOnlyChange(address, async (sql) => {
    await requireDistributed(sql);
    return await planMoves(sql, { drains: false });
  });
}

export interface DrainOptions extends Omit<MoveOptions, "drains"> {
  /** Takes the empty node out of the cluster, also if it does not respond. */
  readonly removes: boolean;
}

/** Moves all shards off a node, which gets no new ones. @returns the moves that ran. */
export async function drainNode(
  address: DatabaseAddress,
  node: NodeAddress,
  { removes, ...options }: DrainOptions,
): Promise<readonly ShardMove[]> {
  const change = async (sql: Sql) => {
    const known = await findNode(sql, node);
    if (!known) throw new DatabaseSetupError(await unknownNode(sql, node));
    if (known.isCoordinator && removes) throw new DatabaseSetupError("A cluster keeps its coordinator.");
    if (removes && !(await findReachable(sql)).has(known.id)) {
      await removeSilent(sql, node);
      return [];
    }
    await requireDistributed(sql);
    await requireOther(sql, known);
    if (known.holdsShards) await setHoldsShards(sql, node, false);
    const moves = await moveShards(address, sql, { ...options, drains: true });
    await requireEmpty(sql, node);
    if (removes) await orRefused(sql`select citus_remove_node(${node.host}, ${node.port})`);
    return moves;
  };
  return asOnlyChange(address, change, removes ? { mayBeSilent: node } : {});
}

/** Citus removes a node that does not respond only once it is disabled, and may disable one that holds shards. */
async function removeSilent(sql: Sql, node: NodeAddress): Promise<void> {
  const shards = await countShards(sql, node);
  if (shards > 0) {
    throw new DatabaseSetupError(
      `${nodeAddressText(node)} does not respond or is disabled, and holds shards of each table: ${shards}. Start it, run cluster add-node for it, then run this again.`,
    );
  }
  await orRefused(sql`select citus_disable_node(${node.host}, ${node.port}, synchronous => true)`);
  await orRefused(sql`select citus_remove_node(${node.host}, ${node.port})`);
}

async function setHoldsShards(sql: Sql, { host, port }: NodeAddress, holds: boolean): Promise<void> {
  await orRefused(sql`select citus_set_node_property(${host}, ${port}, 'shouldhaveshards', ${holds})`);
}

/** Citus says why it refuses a node: it does not respond, lacks the extension, or has another version. */
async function orRefused(change: PromiseLike<unknown>): Promise<void> {
  try {
    await change;
  } catch (error) {
    throw new DatabaseSetupError(`Citus refuses: ${error instanceof Error ? error.message : "it does not say why"}`);
  }
}

async function findNode(sql: Sql, node: NodeAddress): Promise<ClusterNode | undefined> {
  const { nodes } = await requireCluster(sql);
  return nodes.find(({ address }) => address === `${node.host}:${node.port}`);
}

async function unknownNode(sql: Sql, node: NodeAddress): Promise<string> {
  const { nodes } = await requireCluster(sql);
  const known = nodes.map(({ address }) => address).join(", ");
  return `The cluster has no node ${nodeAddressText(node)}. Its nodes are: ${known}.`;
}

async function requireOther(sql: Sql, node: ClusterNode): Promise<void> {
  const { nodes } = await requireCluster(sql);
  if (nodes.some(({ id, isActive, holdsShards }) => id !== node.id && isActive && holdsShards)) return;
  throw new DatabaseSetupError(
    `No other node may hold shards, so those of ${node.address} have nowhere to go. Add one first: cloakroom cluster add-node HOST:PORT`,
  );
}

async function requireEmpty(sql: Sql, node: NodeAddress): Promise<void> {
  const shards = await countShards(sql, node);
  if (shards === 0) return;
  throw new DatabaseSetupError(
    `${shards} shards of each table are still on ${nodeAddressText(node)}: Citus proposes no move for them. See the errors above, and citus_shards.`,
  );
}

/** Of each table. */
async function countShards(sql: Sql, node: NodeAddress): Promise<number> {
  const [counted] = await sql<{ shards: number }[]>`
    select count(*)::int as shards from pg_dist_placement join pg_dist_node using (groupid)
      join pg_dist_shard using (shardid)
    where nodename = ${node.host} and nodeport = ${node.port} and logicalrelid = ${FIRST_TABLE}::regclass`;
  if (!counted) throw new Error("a count has one row");
  return counted.shards;
}
