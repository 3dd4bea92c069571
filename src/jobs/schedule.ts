import { setTimeout as pause } from "node:timers/promises";

/** Something that is done again and again. */
export interface Job {
  readonly name: string;
  /** Milliseconds between the end of one run and the start of the next. */
  readonly every: number;
  run(signal: AbortSignal): Promise<void>;
  /** Called once, after the last run. */
  readonly end?: () => Promise<void>;
}

/** Runs each job in a loop of its own. A run that fails is reported and tried again after the usual time. */
export class Schedule {
  readonly #onFailure: (job: Job, error: unknown) => void;
  readonly #stopping = new AbortController();
  readonly #loops: Promise<void>[] = [];

  constructor(onFailure: (job: Job, error: unknown) => void) {
    this.#onFailure = onFailure;
  }

  start(jobs: readonly Job[]): void {
    for (const job of jobs) this.#loops.push(this.#repeat(job));
  }

  /** Starts no more runs, and tells those under way. */
  abort(): void {
    this.#stopping.abort();
  }

  /** The same, and waits for them. */
  async stop(): Promise<void> {
    this.abort();
    await Promise.all(this.#loops);
  }

  async #repeat(job: Job): Promise<void> {
    const { signal } = this.#stopping;
    const report = (error: unknown) => this.#onFailure(job, error);
    while (!signal.aborted) {
      // Replicas that started together are not to meet at every run.
      await pause(job.every * (0.75 + Math.random() / 4), undefined, { signal, ref: false }).catch(() => {});
      if (!signal.aborted) await job.run(signal).catch(report);
    }
    await job.end?.().catch(report);
  }
}
