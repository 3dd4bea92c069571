import type { BreakerLimits } from "./options.js";

/** Most keys that are tracked. */
const MAX_KEYS = 10_000;

/**
 * Counts failures by key. A key with too many of them within a period is open until the oldest of them leaves the
 * period.
 */
export class CircuitBreaker {
  readonly #limits: BreakerLimits;
  readonly #now: () => number;
  readonly #failures = new Map<string, number[]>();

  /** @param now milliseconds on a monotonic clock. */
  constructor(limits: BreakerLimits, now: () => number) {
    this.#limits = limits;
    this.#now = now;
  }

  /** @returns milliseconds until the key closes; 0 while it is closed. */
  openFor(key: string): number {
    const recent = this.#recent(key);
    const oldest = recent.at(-this.#limits.failures);
    return oldest === undefined ? 0 : Math.max(oldest + this.#limits.ms - this.#now(), 0);
  }

  /** @returns whether this failure opened the key. */
  fail(key: string): boolean {
    const recent = [...this.#recent(key), this.#now()];
    // Moves the key to the end: the first key is the one whose last failure is the oldest.
    this.#failures.delete(key);
    this.#failures.set(key, recent);
    for (const oldest of this.#failures.keys()) {
      if (this.#failures.size <= MAX_KEYS) break;
      this.#failures.delete(oldest);
    }
    return recent.length === this.#limits.failures;
  }

  #recent(key: string): number[] {
    const since = this.#now() - this.#limits.ms;
    return (this.#failures.get(key) ?? []).filter((time) => time > since);
  }
}
