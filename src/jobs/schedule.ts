import { setTimeout as pause } from "node:timers/promises";

export interface Job {
  readonly name: string;
  /** Milliseconds between the end of one run and the start of the next. */
  readonly intervalMs: number;
  /** Milliseconds until the first run. Absent: as between others. */
  readonly firstMs?: number;
  run(signal: AbortSignal): Promise<void>;
  /** Called once, after the last run. */
  readonly end?: () => Promise<void>;
}

export interface JobFailure {
  readonly job: Job;
  readonly error: unknown;
  /** Consecutive failures, including this one. */
  readonly attempt: number;
  /** When the next run starts. Absent: never, because the schedule is stopping. */
  readonly nextAt: Date | undefined;
}

/** Runs each job in its own loop. A run that fails is reported, and repeated after the usual interval. */
export class Schedule {
  readonly #onFailure: (failure: JobFailure) => void;
  readonly #stopping = new AbortController();
  readonly #loops: Promise<void>[] = [];

  constructor(onFailure: (failure: JobFailure) => void) {
    this.#onFailure = onFailure;
  }

  start(jobs: readonly Job[]): void {
    for (const job of jobs) this.#loops.push(this.#repeat(job));
  }

  /** Starts no more runs, and aborts those in progress. */
  abort(): void {
    this.#stopping.abort();
  }

  /** Aborts, and waits for the runs in progress. */
  async stop(): Promise<void> {
    this.abort();
    await Promise.all(this.#loops);
  }

  async #repeat(job: Job): Promise<void> {
    const { signal } = this.#stopping;
    let attempt = 0;
    let delay = delayBefore({ intervalMs: job.firstMs ?? job.intervalMs });
    const report = (error: unknown) => {
      attempt += 1;
      const nextAt = signal.aborted ? undefined : new Date(Date.now() + delay);
      this.#onFailure({ job, error, attempt, nextAt });
    };
    while (!signal.aborted) {
      await pause(delay, undefined, { signal, ref: false }).catch(() => {});
      if (signal.aborted) break;
      delay = delayBefore(job);
      await job.run(signal).then(() => {
        attempt = 0;
      }, report);
    }
    await job.end?.().catch(report);
  }
}

/** A random 75 to 100 % of the interval, because replicas that started together must not collide at every run. */
function delayBefore({ intervalMs }: Pick<Job, "intervalMs">): number {
  return intervalMs * (0.75 + Math.random() / 4);
}
