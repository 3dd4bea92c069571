import { Gauge, type Registry } from "prom-client";
import type { MemoryBudget } from "../memory/memory-budget.js";

export function gaugeMemory(registry: Registry, budget: MemoryBudget): void {
  new Gauge({
    name: "cloakroom_body_memory_free_bytes",
    help: "Memory for bodies that is not reserved.",
    labelNames: ["size"],
    registers: [registry],
    collect() {
      for (const [size, { left }] of Object.entries(poolsOf(budget))) this.set({ size }, left);
    },
  });
  new Gauge({
    name: "cloakroom_bodies_waiting",
    help: "Bodies that wait for memory.",
    labelNames: ["size"],
    registers: [registry],
    collect() {
      this.set({ size: "small" }, budget.small.waiting);
      this.set({ size: "large" }, budget.large.waiting);
    },
  });
}

/** By the label of the metric. The last two have no queue: there the network that holds the most gives way. */
function poolsOf({ small, large, unproven, signIn }: MemoryBudget) {
  return { small, large, unproven, sign_in: signIn };
}
