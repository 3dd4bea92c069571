/** Counts of durations by upper bound, in the form of metrics collectors. */
export interface HistogramSnapshot {
  /** Observations that took at most this long (seconds), each including those before it. */
  readonly buckets: readonly { readonly le: number; readonly count: number }[];
  readonly count: number;
  /** Seconds. */
  readonly sum: number;
}

/** Seconds: from a warm call (0.5 ms) to the longest run (30 s). */
const BOUNDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

export class Histogram {
  readonly #counts = BOUNDS.map(() => 0);
  #count = 0;
  #sum = 0;

  observe(ms: number): void {
    const seconds = ms / 1_000;
    this.#count += 1;
    this.#sum += seconds;
    const index = BOUNDS.findIndex((bound) => seconds <= bound);
    if (index >= 0) this.#counts[index] = (this.#counts[index] ?? 0) + 1;
  }

  snapshot(): HistogramSnapshot {
    let count = 0;
    const buckets = BOUNDS.map((le, index) => {
      count += this.#counts[index] ?? 0;
      return { le, count };
    });
    return { buckets, count: this.#count, sum: this.#sum };
  }
}
