import { RateLimiterRes } from "rate-limiter-flexible";
import type { Counter, CounterSettings } from "./counter.js";

/** About 10 MB for each counter. */
const MAX_KEYS = 50_000;

interface Count {
  used: number;
  until: number;
}

/**
 * Counts in this process, for a bounded number of keys: unverified callers choose addresses and networks. Beyond it the oldest
 * keys are forgotten, and start again at nothing: forgetting lets more through, and never refuses anybody.
 */
export class BoundedCounter implements Counter {
  readonly #settings: Omit<CounterSettings, "keyPrefix">;
  readonly #now: () => number;
  /** Two generations of keys: the older one is forgotten as a whole, which takes no time for each of its keys. */
  #counts = new Map<string, Count>();
  #earlier = new Map<string, Count>();
  #since = 0;

  constructor(settings: Omit<CounterSettings, "keyPrefix">, now: () => number = Date.now) {
    this.#settings = settings;
    this.#now = now;
  }

  /** How many keys are counted. */
  get size(): number {
    return this.#counts.size + this.#earlier.size;
  }

  async get(key: string): Promise<RateLimiterRes | null> {
    const count = this.#find(key);
    return count && count.until > this.#now() ? this.#resultOf(count) : null;
  }

  async consume(key: string): Promise<RateLimiterRes> {
    const count = this.#present(key);
    count.used += 1;
    const { points, blockDuration } = this.#settings;
    if (count.used === points + 1 && blockDuration !== undefined) count.until = this.#now() + blockDuration * 1_000;
    const result = this.#resultOf(count);
    if (count.used > points) throw result;
    return result;
  }

  #find(key: string): Count | undefined {
    return this.#counts.get(key) ?? this.#earlier.get(key);
  }

  #present(key: string): Count {
    const now = this.#now();
    const found = this.#find(key);
    if (found && found.until > now) return found;
    const duration = this.#settings.duration * 1_000;
    const longest = Math.max(this.#settings.duration, this.#settings.blockDuration ?? 0) * 1_000;
    // Whatever is in the older generation by then has ended, unless there are too many.
    if (this.#counts.size >= MAX_KEYS / 2 || now >= this.#since + longest) {
      this.#earlier = this.#counts;
      this.#counts = new Map();
      this.#since = now;
    }
    const made = { used: 0, until: now + duration };
    this.#counts.set(key, made);
    return made;
  }

  #resultOf({ used, until }: Count): RateLimiterRes {
    const left = Math.max(0, this.#settings.points - used);
    return new RateLimiterRes(left, until - this.#now(), used, used === 1);
  }
}
