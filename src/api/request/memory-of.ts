import type { MemoryBudget } from "../../memory/memory-budget.js";
import type { MemoryLease } from "../../memory/memory-lease.js";
import type { ReadClient } from "../connection/client-address.js";
import type { ArrivedRequest, OpenResponse } from "../connection/exchange.js";

const leases = new WeakMap<ArrivedRequest, MemoryLease>();

/** Opens a request's lease of the memory for bodies. It closes with the response, or when the caller disconnects. */
export function openMemory(
  budget: MemoryBudget,
  readClient: ReadClient,
  request: ArrivedRequest,
  response: OpenResponse,
): void {
  const lease = budget.open(() => readClient(request));
  leases.set(request, lease);
  response.once("close", () => lease.close());
}

/** The lease opened by {@link openMemory}. */
export function memoryOf(request: ArrivedRequest): MemoryLease {
  const lease = leases.get(request);
  if (!lease) throw new Error("a request bypassed the server's entry point");
  return lease;
}
