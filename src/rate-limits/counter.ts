import type { RateLimiterRes } from "rate-limiter-flexible";

export interface CounterSettings {
  readonly points: number;
  /** Seconds. */
  readonly duration: number;
  /** Seconds for which more is refused after the points are used up. */
  readonly blockDuration?: number;
  readonly keyPrefix: string;
}

export interface Counter {
  get(key: string): Promise<RateLimiterRes | null>;
  /** Rejects with a RateLimiterRes if nothing is left. */
  consume(key: string): Promise<RateLimiterRes>;
}
