import { plannedRebalance, rebalance } from "../store/cluster/change-nodes.js";
import { nodeAddressText } from "../store/cluster/node-address.js";
import type { ShardMove } from "../store/cluster/shard-moves.js";
import { migratedCoordinator } from "../vault/prepare-vault.js";
import type { CommandInput } from "./operator-command.js";

export async function clusterRebalance({ config, options, say, printResult }: CommandInput): Promise<void> {
  const address = await migratedCoordinator(config);
  if (options["dry-run"] === true) {
    printResult({ moves: (await plannedRebalance(address)).map(showMove) });
    return;
  }
  const moves = await rebalance(address, { blocksWrites: options["block-writes"] === true, announce: say });
  printResult({ moved: moves.map(showMove) });
}

export function showMove({ from, to, bytes }: ShardMove) {
  return { from: nodeAddressText(from), to: nodeAddressText(to), bytes };
}
