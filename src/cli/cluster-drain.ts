import { drainNode } from "../store/cluster/change-nodes.js";
import { nodeAddressText } from "../store/cluster/node-address.js";
import { migratedCoordinator } from "../vault/prepare-vault.js";
import { showMove } from "./cluster-rebalance.js";
import { nodeArgument } from "./node-argument.js";
import type { CommandInput } from "./operator-command.js";

export async function clusterDrain({ config, options, operands, say, printResult }: CommandInput): Promise<void> {
  const node = nodeArgument(operands);
  const removes = options.remove === true;
  const blocksWrites = options["block-writes"] === true;
  const moves = await drainNode(await migratedCoordinator(config), node, { removes, blocksWrites, announce: say });
  if (!removes) say("The node holds no tenants now. To take it out of the cluster, run this again with --remove.");
  printResult({ node: nodeAddressText(node), removed: removes, moved: moves.map(showMove) });
}
