import { setTimeout as pause } from "node:timers/promises";

/** Something that is done again and again. */
export interface Job {
  readonly name: string;
  /** Milliseconds between the end of one run and the start of the next. */
  readonly every: number;
  run(signal: AbortSignal): Promise<void>;
}

/** Running jobs. */
export interface Schedule {
  /** Starts no more runs, and waits for those under way. */
  stop(): Promise<void>;
}

/** Runs each job in a loop of its own. A run that fails is reported and tried again after the usual time. */
export function startJobs(jobs: readonly Job[], onFailure: (job: Job, error: unknown) => void): Schedule {
  const stopping = new AbortController();
  const loops = jobs.map((job) => repeat(job, stopping.signal, onFailure));
  return {
    async stop() {
      stopping.abort();
      await Promise.all(loops);
    },
  };
}

async function repeat(job: Job, signal: AbortSignal, onFailure: (job: Job, error: unknown) => void): Promise<void> {
  while (!signal.aborted) {
    // Replicas that started together are not to meet at every run.
    await pause(job.every * (0.75 + Math.random() / 4), undefined, { signal, ref: false }).catch(() => {});
    if (signal.aborted) return;
    await job.run(signal).catch((error: unknown) => onFailure(job, error));
  }
}
