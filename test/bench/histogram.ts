/** Latencies of one run, in milliseconds. */
export class Histogram {
  readonly #samples: number[] = [];

  add(milliseconds: number): void {
    this.#samples.push(milliseconds);
  }

  get count(): number {
    return this.#samples.length;
  }

  /** The latency below which this share of all requests stays: 0.99 for p99. */
  percentile(share: number): number {
    if (this.#samples.length === 0) return Number.NaN;
    const sorted = this.#samples.toSorted((a, b) => a - b);
    return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
  }
}
