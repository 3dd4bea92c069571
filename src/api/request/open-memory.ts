import type { MemoryBudget } from "../../memory/memory-budget.js";
import type { ReservedMemory } from "../../memory/reserved-memory.js";
import type { ReadClient } from "../connection/client-address.js";
import type { ArrivedRequest, OpenResponse, WholeResponse } from "../connection/exchange.js";
import { findTrackedConnection } from "../connection/tracked-connections.js";

const opened = new WeakMap<ArrivedRequest, ReservedMemory>();

export interface MemoryParts {
  readonly memory: MemoryBudget;
  readonly readClient: ReadClient;
  /** The network of a client, by which callers that have proved nothing share. */
  readonly readNetwork: ReadClient;
}

/** Opens a request's part of the memory for bodies. It closes with the response, or when the caller disconnects. */
export function openMemory(
  { memory: budget, readClient, readNetwork }: MemoryParts,
  request: ArrivedRequest,
  response: OpenResponse & Pick<WholeResponse, "writableEnded">,
): void {
  const memory = budget.open(
    () => readClient(request),
    () => readNetwork(request),
    () => response.writableEnded,
  );
  opened.set(request, memory);
  const connection = findTrackedConnection(request);
  response.once("close", () => {
    if (memory.isProven) connection?.prove();
    memory.close();
  });
}

export function requestMemory(request: ArrivedRequest): ReservedMemory {
  const memory = opened.get(request);
  if (!memory) throw new Error("a request bypassed the server's entry point");
  return memory;
}
