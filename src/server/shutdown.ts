import type { OperatorLog } from "../api/operator-log.js";

/** How long requests in flight may go on after the signal to stop, in milliseconds. */
export const REQUESTS_END_MS = 25_000;

/**
 * When a process that has not ended by itself is ended, in milliseconds since the signal. With what an end takes it is gone
 * after 28 s: orchestrators kill after 30 s by default.
 */
export const PROCESS_ENDS_MS = 27_500;

/** The parts of a server, in the order in which they end. */
const PARTS = {
  processes: { mostMs: 26_400, untilMs: 26_400 },
  "requests in flight": { mostMs: REQUESTS_END_MS + 200, untilMs: REQUESTS_END_MS + 200 },
  "the admin port": { mostMs: 1_000, untilMs: 25_300 },
  "the counters of rate limits": { mostMs: 1_000, untilMs: 25_400 },
  jobs: { mostMs: REQUESTS_END_MS, untilMs: 25_500 },
  "logs being set back": { mostMs: 5_000, untilMs: 25_550 },
  "runs and payments in the background": { mostMs: REQUESTS_END_MS, untilMs: 25_600 },
  "the sandbox's runner": { mostMs: 2_000, untilMs: 25_900 },
  "failed runs being stored": { mostMs: 1_000, untilMs: 26_000 },
  "the database's connections": { mostMs: 6_000, untilMs: 26_400 },
  "the embedded database": { mostMs: PROCESS_ENDS_MS, untilMs: 26_900 },
  "the traces exporter": { mostMs: 2_000, untilMs: 27_100 },
} as const satisfies Record<string, { readonly mostMs: number; readonly untilMs: number }>;

export type Part = keyof typeof PARTS;

/** Ends a part of the server within its time. */
export type EndPart = (part: Part, end: () => Promise<unknown>) => Promise<void>;

/** Even a part whose turn comes late gets this long, in milliseconds. */
const LEAST_MS = 100;

/** A part that took longer than this is named in the operator's log, in milliseconds. */
const WORTH_TELLING_MS = 1_000;

/**
 * The end of a server, before {@link PROCESS_ENDS_MS}: each part has a time of its own to end, and a time since the signal
 * by which the next one begins. A part that does not end is left behind, and named in the operator's log: a database that
 * is gone, or a collector that does not answer, must not keep a process alive that serves nobody.
 */
export class Shutdown {
  readonly #log: Pick<OperatorLog, "info" | "warn">;
  readonly #ending = new Set<Part>();
  #beganAt: number | undefined;
  /** What failed to end. */
  readonly errors: unknown[] = [];

  constructor(log: Pick<OperatorLog, "info" | "warn">) {
    this.#log = log;
  }

  /** The parts that are waited for now. */
  get waitingFor(): readonly string[] {
    return [...this.#ending];
  }

  /** The signal has come. Without one the first part that ends begins it: a start that fails. */
  begin(): void {
    this.#beganAt ??= performance.now();
  }

  /**
   * Makes the function that stops a server. Its first call begins the shutdown, and every call waits for the same end.
   * The function throws what a part failed to end with.
   */
  stopper(stop: () => Promise<void>): () => Promise<void> {
    let stopping: Promise<void> | undefined;
    const run = async () => {
      this.begin();
      await stop();
      if (this.errors.length > 0) throw this.errors[0];
    };
    return () => {
      stopping ??= run();
      return stopping;
    };
  }

  /** Never fails: what `end` throws is kept in {@link errors}. */
  readonly end: EndPart = async (part, end) => {
    this.begin();
    const { mostMs, untilMs } = PARTS[part];
    const startedAt = performance.now();
    const left = Math.max(LEAST_MS, Math.min(mostMs, untilMs - (startedAt - (this.#beganAt ?? startedAt))));
    this.#ending.add(part);
    const hasEnded = await within(left, end).catch((error: unknown) => {
      this.errors.push(error);
      return true;
    });
    this.#ending.delete(part);
    const line = { reason: part, duration_ms: Math.round(performance.now() - startedAt) };
    if (!hasEnded) this.#log.warn(line, "stopping: left behind what did not end in time");
    else if (line.duration_ms > WORTH_TELLING_MS) this.#log.info(line, "stopping: waited for its end");
  };
}

/** Whether work has ended within so many milliseconds. It goes on otherwise, and its failure is nobody's. */
async function within(ms: number, work: () => Promise<unknown>): Promise<boolean> {
  const { promise: late, resolve } = Promise.withResolvers<boolean>();
  const timer = setTimeout(() => resolve(false), ms);
  const done = work().then(() => true);
  done.catch(() => {});
  try {
    return await Promise.race([done, late]);
  } finally {
    clearTimeout(timer);
  }
}
