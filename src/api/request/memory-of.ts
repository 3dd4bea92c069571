import type { MemoryBudget } from "../../memory/memory-budget.js";
import type { ReservedMemory } from "../../memory/request-memory.js";
import type { ReadClient } from "../connection/client-address.js";
import type { ArrivedRequest, OpenResponse } from "../connection/exchange.js";

const opened = new WeakMap<ArrivedRequest, ReservedMemory>();

/** Opens a request's part of the memory for bodies. It closes with the response, or when the caller disconnects. */
export function openMemory(
  budget: MemoryBudget,
  readClient: ReadClient,
  request: ArrivedRequest,
  response: OpenResponse,
): void {
  const memory = budget.open(() => readClient(request));
  opened.set(request, memory);
  response.once("close", () => memory.close());
}

/** The memory opened by {@link openMemory}. */
export function memoryOf(request: ArrivedRequest): ReservedMemory {
  const memory = opened.get(request);
  if (!memory) throw new Error("a request bypassed the server's entry point");
  return memory;
}
