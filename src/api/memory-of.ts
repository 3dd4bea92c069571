import type { IncomingMessage, ServerResponse } from "node:http";
import type { MemoryBudget } from "../memory/memory-budget.js";
import type { MemoryLease } from "../memory/memory-lease.js";
import type { ReadClient } from "./client-address.js";

const leases = new WeakMap<IncomingMessage, MemoryLease>();

/** Gives a request its lease of the memory for bodies. It ends with the answer, or when the caller leaves. */
export function openMemory(
  budget: MemoryBudget,
  readClient: ReadClient,
  request: IncomingMessage,
  response: ServerResponse,
): void {
  const lease = budget.open(() => readClient(request));
  leases.set(request, lease);
  response.once("close", () => lease.close());
}

/** The lease of a request that {@link openMemory} was called for. */
export function memoryOf(request: IncomingMessage): MemoryLease {
  const lease = leases.get(request);
  if (!lease) throw new Error("a request came in by another way than the server's");
  return lease;
}
