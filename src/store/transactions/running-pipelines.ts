import { processorTurns } from "../../base/caller-turns.js";
import type { BatchLimits } from "./batch-limits.js";

/** Milliseconds after which a pipeline does not count any more: it waits for a lock, or for the disk. */
const LATE_MS = 100;

/**
 * The pipelines that run now, and whether another one is worth its cost. A pipeline whose tenants all travel in others is
 * not among them.
 */
export class RunningPipelines {
  readonly #limits: Pick<BatchLimits, "pipelines" | "pipelineWindowMs">;
  readonly #running = new Set<{ readonly at: number; readonly tenants: number }>();

  constructor(limits: Pick<BatchLimits, "pipelines" | "pipelineWindowMs">) {
    this.#limits = limits;
  }

  /** Milliseconds until one of those that run is late, if another may start only then, or at the end of one. */
  fullFor(now: number): number | undefined {
    const current = this.#current(now);
    if (current.length < this.#limits.pipelines) return undefined;
    return LATE_MS - (now - Math.min(...current.map(({ at }) => at)));
  }

  /**
   * Milliseconds for which the tenants that wait should wait for others. As for the transactions of one tenant: while
   * fewer of them wait than half of those that travel, or than callers wait for the main thread.
   * @param since the first of them waits.
   */
  worthWaiting(now: number, tenants: number, since: number): number {
    const waited = now - since;
    const { pipelineWindowMs } = this.#limits;
    if (waited >= pipelineWindowMs) return 0;
    const travelling = this.#current(now).reduce((sum, running) => sum + running.tenants, 0);
    const isWorth = 2 * tenants >= travelling && processorTurns.waitingCallers <= tenants;
    return isWorth ? 0 : pipelineWindowMs - waited;
  }

  /** @returns what to call when it has ended. */
  started(at: number, tenants: number): () => void {
    const running = { at, tenants };
    this.#running.add(running);
    return () => void this.#running.delete(running);
  }

  #current(now: number) {
    return [...this.#running].filter(({ at }) => now - at < LATE_MS);
  }
}
