import type { OperatorLog } from "../api/observation/operator-log.js";

/** How long requests under way may continue after the signal to stop, in milliseconds. */
export const REQUEST_GRACE_MS = 25_000;

/**
 * When a process that has not ended by itself is terminated, in milliseconds after the signal. Including the
 * termination it is gone after 28 s: orchestrators kill after 30 s by default.
 */
export const SHUTDOWN_TIMEOUT_MS = 27_500;

const PARTS = {
  processes: { maxMs: 26_400, untilMs: 26_400 },
  "requests in flight": { maxMs: REQUEST_GRACE_MS + 200, untilMs: REQUEST_GRACE_MS + 200 },
  "the admin port": { maxMs: 1_000, untilMs: 25_300 },
  "logs being set back": { maxMs: 5_000, untilMs: 25_500 },
  jobs: { maxMs: REQUEST_GRACE_MS, untilMs: 25_550 },
  "runs, deliveries and payments in the background": { maxMs: REQUEST_GRACE_MS, untilMs: 25_600 },
  "the sandbox's runner": { maxMs: 2_000, untilMs: 25_900 },
  "failed runs being stored": { maxMs: 1_000, untilMs: 26_000 },
  "log rows of refused keys": { maxMs: 1_000, untilMs: 26_100 },
  "the counters of rate limits": { maxMs: 1_000, untilMs: 26_150 },
  "the record of the stop": { maxMs: 1_000, untilMs: 26_200 },
  "the database's connections": { maxMs: 6_000, untilMs: 26_400 },
  "the embedded database": { maxMs: SHUTDOWN_TIMEOUT_MS, untilMs: 26_900 },
  "the traces exporter": { maxMs: 2_000, untilMs: 27_100 },
} as const satisfies Record<string, { readonly maxMs: number; readonly untilMs: number }>;

export type Part = keyof typeof PARTS;

export type EndPart = (part: Part, end: () => Promise<unknown>) => Promise<void>;

/** Minimum time for a part, in milliseconds, even if its turn comes late. */
const MIN_MS = 100;

/** The operator's log names a part that took longer than this, in milliseconds. */
const WORTH_TELLING_MS = 1_000;

/**
 * Ends a server before {@link SHUTDOWN_TIMEOUT_MS}: each part has its own time limit, and a time after the signal at which
 * the next one begins. A part that does not end is left behind and named in the operator's log: a lost database or an
 * unresponsive collector must not keep a process alive that no longer serves requests.
 */
export class Shutdown {
  readonly #log: Pick<OperatorLog, "info" | "warn">;
  readonly #ending = new Set<Part>();
  #beganAt: number | undefined;
  readonly errors: unknown[] = [];

  constructor(log: Pick<OperatorLog, "info" | "warn">) {
    this.#log = log;
  }

  get waitingFor(): readonly string[] {
    return [...this.#ending];
  }

  /**
   * The signal has arrived. Without a signal, the first part that ends starts the shutdown, as after a failed start.
   */
  begin(): void {
    this.#beganAt ??= performance.now();
  }

  /**
   * Creates the function that stops a server. Its first call starts the shutdown, and every call waits for the same
   * end. The function throws the error of a part that failed to end.
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

  /** Never fails: {@link errors} collects what `end` throws. */
  readonly end: EndPart = async (part, end) => {
    this.begin();
    const { maxMs, untilMs } = PARTS[part];
    const startedAt = performance.now();
    const left = Math.max(MIN_MS, Math.min(maxMs, untilMs - (startedAt - (this.#beganAt ?? startedAt))));
    this.#ending.add(part);
    const hasEnded = await within(left, end).catch((error: unknown) => {
      this.errors.push(error);
      return true;
    });
    this.#ending.delete(part);
    const line = { reason: part, duration_ms: Math.round(performance.now() - startedAt) };
    if (!hasEnded) this.#log.warn(line, "shutdown: component timed out and was abandoned");
    else if (line.duration_ms > WORTH_TELLING_MS) this.#log.info(line, "shutdown: slow component stopped");
  };
}

/**
 * Returns whether work ended within this many milliseconds. Otherwise the work continues, and its failure is ignored.
 */
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
