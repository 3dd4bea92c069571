import { Gauge, type Registry } from "prom-client";
import type { MemoryBudget } from "../memory/memory-budget.js";

/** Gauges of the free memory for bodies and of the bodies that wait for it. */
export function gaugeMemory(registry: Registry, budget: MemoryBudget): void {
  const gauge = (name: string, help: string, read: (pool: MemoryBudget["small"]) => number) =>
    new Gauge({
      ...{ name, help, labelNames: ["size"], registers: [registry] },
      collect() {
        this.set({ size: "small" }, read(budget.small));
        this.set({ size: "large" }, read(budget.large));
      },
    });
  gauge("cloakroom_body_memory_free_bytes", "Memory for bodies that is not reserved.", ({ left }) => left);
  gauge("cloakroom_bodies_waiting", "Bodies that wait for memory.", ({ waiting }) => waiting);
}
