import { RateLimiterRes } from "rate-limiter-flexible";
import { BoundedCounter } from "./bounded-counter.js";
import type { Counter, CounterSettings } from "./counter.js";
import { BLOCK_SECONDS, RATE_SCOPES, type RatePoints, type RateScope, WINDOW_SECONDS } from "./rate-scope.js";

/** A client's state in a scope after one more request. */
export interface RateVerdict {
  readonly scope: RateScope;
  /** Requests per window. */
  readonly limit: number;
  readonly remaining: number;
  /** Seconds to the end of the window, or of the block if the limit is exceeded. */
  readonly resetAfter: number;
  readonly isExceeded: boolean;
}

export interface RateLimits {
  /**
   * Counts a request in `global` and in its own scope. Returns the verdict of an exceeded limit, otherwise of the scope
   * with the least left.
   */
  count(client: string, scope: RateScope | undefined): Promise<RateVerdict>;
}

export function counterSettings(scope: RateScope, points: RatePoints): CounterSettings {
  return {
    points: points[scope],
    duration: WINDOW_SECONDS,
    blockDuration: BLOCK_SECONDS,
    keyPrefix: `cloakroom:rate:${scope}`,
  };
}

/** Counters in this process: a request costs less than a microsecond. */
export function memoryRateLimits(points: RatePoints): RateLimits {
  return rateLimits(points, (scope) => new BoundedCounter(counterSettings(scope, points)));
}

export function rateLimits(points: RatePoints, counterFor: (scope: RateScope) => Counter): RateLimits {
  const counters = new Map(RATE_SCOPES.map((scope) => [scope, counterFor(scope)]));
  const countIn = async (scope: RateScope, client: string): Promise<RateVerdict> => {
    const limit = points[scope];
    try {
      const result = await counters.get(scope)?.consume(client);
      const wait = result?.msBeforeNext ?? 0;
      return {
        scope,
        limit,
        remaining: result?.remainingPoints ?? limit,
        resetAfter: seconds(wait),
        isExceeded: false,
      };
    } catch (error) {
      if (!(error instanceof RateLimiterRes)) throw error;
      return { scope, limit, remaining: 0, resetAfter: seconds(error.msBeforeNext), isExceeded: true };
    }
  };
  return {
    async count(client, scope) {
      const everything = await countIn("global", client);
      if (scope === undefined || scope === "global" || everything.isExceeded) return everything;
      const own = await countIn(scope, client);
      return own.isExceeded || own.remaining <= everything.remaining ? own : everything;
    },
  };
}

/** At least one, because a wait of zero seconds means no wait. */
function seconds(ms: number): number {
  return Math.max(1, Math.ceil(ms / 1_000));
}
