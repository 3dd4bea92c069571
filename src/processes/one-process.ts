import type { Worker } from "node:cluster";
import type { FromProcess, ToProcess } from "./messages.js";
import type { MetricSnapshot } from "./whole-metrics.js";

/** How a process ended. */
export interface ProcessEnd {
  readonly code: number | null;
  readonly signal: string | null;
}

/** What a process said when it began to take requests. */
export type ProcessReady = Extract<FromProcess, { type: "ready" }>;

export interface OneProcessHooks {
  readonly onMessage: (process: OneProcess, message: FromProcess) => void;
  readonly onEnd: (process: OneProcess, end: ProcessEnd) => void;
}

/** One life of a process that serves. */
export class OneProcess {
  readonly number: number;
  readonly #worker: Worker;
  readonly #metricsWaiting = new Set<(metrics: readonly MetricSnapshot[] | undefined) => void>();
  readonly #ended = Promise.withResolvers<ProcessEnd>();
  readonly startedAt = performance.now();
  ready: ProcessReady | undefined;
  /** When it last answered, on the clock of performance.now(). */
  lastHeard = performance.now();

  constructor(number: number, worker: Worker, hooks: OneProcessHooks) {
    this.number = number;
    this.#worker = worker;
    worker.on("message", (message: FromProcess) => {
      this.lastHeard = performance.now();
      if (message.type === "ready") this.ready = message;
      if (message.type === "metrics") this.#settleMetrics(message.metrics);
      hooks.onMessage(this, message);
    });
    let hasEnded = false;
    const end = (found: ProcessEnd) => {
      if (hasEnded) return;
      hasEnded = true;
      this.#settleMetrics(undefined);
      this.#ended.resolve(found);
      hooks.onEnd(this, found);
    };
    worker.on("exit", (code, signal) => end({ code, signal }));
    // A process that could not be made has no exit.
    worker.on("error", () => {
      if (worker.process.pid === undefined) end({ code: null, signal: null });
    });
  }

  get pid(): number | undefined {
    return this.#worker.process.pid;
  }

  get ended(): Promise<ProcessEnd> {
    return this.#ended.promise;
  }

  send(message: ToProcess): void {
    // It may end at any moment: its exit says so, and no send has to.
    if (this.#worker.isConnected()) this.#worker.send(message, () => {});
  }

  kill(): void {
    this.#worker.process.kill("SIGKILL");
  }

  /** Has it report its metrics. Undefined when it has not within this time. */
  metrics(withinMs: number): Promise<readonly MetricSnapshot[] | undefined> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => settle(undefined), withinMs);
      const settle = (metrics: readonly MetricSnapshot[] | undefined) => {
        clearTimeout(timer);
        this.#metricsWaiting.delete(settle);
        resolve(metrics);
      };
      this.#metricsWaiting.add(settle);
      this.send({ type: "metrics" });
    });
  }

  #settleMetrics(metrics: readonly MetricSnapshot[] | undefined): void {
    for (const settle of [...this.#metricsWaiting]) settle(metrics);
  }
}
