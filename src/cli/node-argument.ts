import { type NodeAddress, parseNodeAddress } from "../store/cluster/node-address.js";
import type { CommandInput } from "./operator-command.js";
import { UsageError } from "./usage-error.js";

/** The node that a command of the cluster is given. @throws {UsageError} */
export function nodeArgument([text = ""]: CommandInput["operands"]): NodeAddress {
  const node = parseNodeAddress(text);
  if (node) return node;
  throw new UsageError("NODE must be HOST or HOST:PORT, as the coordinator reaches it; an IPv6 address in brackets.");
}
