import type { Worker } from "node:cluster";
import type { MetricSnapshot } from "./aggregated-metrics.js";
import type { FromProcess, ToProcess } from "./messages.js";
import { closeUnacceptedAtEnd } from "./unaccepted-connections.js";

export interface ProcessEnd {
  readonly code: number | null;
  readonly signal: string | null;
}

/** The message of a process that begins to accept requests. */
export type ProcessReady = Extract<FromProcess, { type: "ready" }>;

export interface OneProcessHooks {
  readonly onMessage: (process: OneProcess, message: FromProcess) => void;
  readonly onEnd: (process: OneProcess, end: ProcessEnd) => void;
}

export class OneProcess {
  readonly number: number;
  readonly #worker: Worker;
  readonly #metricsWaiting = new Set<(metrics: readonly MetricSnapshot[] | undefined) => void>();
  readonly #ended = Promise.withResolvers<ProcessEnd>();
  readonly startedAt = performance.now();
  ready: ProcessReady | undefined;
  /** The time of its last response, on the clock of performance.now(). */
  lastHeard = performance.now();

  constructor(number: number, worker: Worker, hooks: OneProcessHooks) {
    this.number = number;
    this.#worker = worker;
    closeUnacceptedAtEnd(worker);
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
    // A process that could not be created has no exit event.
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
    // The process may end at any moment: its exit event reports that, so errors of a send are ignored.
    if (this.#worker.isConnected()) this.#worker.send(message, () => {});
  }

  kill(): void {
    this.#worker.process.kill("SIGKILL");
  }

  /** Requests its metrics. Undefined if it does not respond within this time. */
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
