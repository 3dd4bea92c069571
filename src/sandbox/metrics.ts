import { Histogram, type HistogramSnapshot } from "./histogram.js";
import type { RunFailure, RunOutcome } from "./run.js";
import type { RunnerHealth } from "./wire/messages.js";
import type { RunReport } from "./wire/report.js";

export type RunResult = "returned" | "threw" | RunFailure;

export interface SandboxMetrics {
  readonly runs: Readonly<Partial<Record<RunResult, number>>>;
  readonly coldStarts: number;
  /** Threads ended because their code could not be interrupted. */
  readonly threadsEnded: number;
  /** Runner processes that ended while the sandbox was open. */
  readonly runnersEnded: number;
  /** Runs in progress, including queued ones. */
  readonly underWay: number;
  /** Seconds in the queue. */
  readonly wait: HistogramSnapshot;
  /** Seconds from the call of `run` to its outcome. */
  readonly duration: HistogramSnapshot;
  /** The runner's last report. */
  readonly runner: RunnerHealth | undefined;
}

export class SandboxCounters {
  readonly #runs: Partial<Record<RunResult, number>> = {};
  readonly #wait = new Histogram();
  readonly #duration = new Histogram();
  #coldStarts = 0;
  #threadsEnded = 0;
  #runnersEnded = 0;
  runner: RunnerHealth | undefined;

  /** Counts a run that the runner reported, whatever its outcome. */
  reported({ cold, waitedMs, threadEnded }: RunReport): void {
    if (cold) this.#coldStarts += 1;
    if (threadEnded) this.#threadsEnded += 1;
    this.#wait.observe(waitedMs);
  }

  /** Counts a thread ended for a compilation. Reports of runs cover the others. */
  threadEnded(): void {
    this.#threadsEnded += 1;
  }

  ended(outcome: RunOutcome, ms: number): void {
    const result = outcome.kind === "failed" ? outcome.reason : outcome.kind;
    this.#runs[result] = (this.#runs[result] ?? 0) + 1;
    this.#duration.observe(ms);
  }

  runnerEnded(): void {
    this.#runnersEnded += 1;
    this.runner = undefined;
  }

  snapshot(underWay: number): SandboxMetrics {
    return {
      runs: { ...this.#runs },
      coldStarts: this.#coldStarts,
      threadsEnded: this.#threadsEnded,
      runnersEnded: this.#runnersEnded,
      underWay,
      wait: this.#wait.snapshot(),
      duration: this.#duration.snapshot(),
      runner: this.runner,
    };
  }
}
