import { addNode } from "../store/cluster/change-nodes.js";
import { nodeAddressText } from "../store/cluster/node-address.js";
import { migratedCoordinator } from "../vault/prepare-vault.js";
import { nodeArgument } from "./node-argument.js";
import type { CommandInput } from "./operator-command.js";

export async function clusterAddNode({ config, operands, say, printResult }: CommandInput): Promise<void> {
  const node = nodeArgument(operands);
  const { added, moves } = await addNode(await migratedCoordinator(config), node);
  if (moves.length > 0) say("To move shards to it, run: cloakroom cluster rebalance");
  printResult({ node: nodeAddressText(node), added, moves_to_balance: moves.length });
}
