import { RateLimiterMemory, RateLimiterRes } from "rate-limiter-flexible";
import { BLOCK_SECONDS, RATE_SCOPES, type RatePoints, type RateScope, WINDOW_SECONDS } from "./rate-scope.js";

/** How a client stands in a scope after one more request. */
export interface RateVerdict {
  readonly scope: RateScope;
  /** Requests that a window takes. */
  readonly limit: number;
  readonly remaining: number;
  /** Seconds to the end of the window; of the block, where the limit is exceeded. */
  readonly resetAfter: number;
  readonly isExceeded: boolean;
}

/** Counts the requests of clients. */
export interface RateLimits extends AsyncDisposable {
  /**
   * Counts a request, as `global` and in its own scope. Where one is exceeded the verdict is of that, else of the one in
   * which least is left.
   */
  count(client: string, scope: RateScope | undefined): Promise<RateVerdict>;
}

/** What counts for one scope: a limiter of the library, whatever it keeps its counters in. */
export interface RateCounter {
  /** Rejects with a RateLimiterRes when the client has none left. */
  consume(client: string): Promise<RateLimiterRes>;
}

/** The settings that a scope's counters have, wherever they are. */
export function counterSettings(scope: RateScope, points: RatePoints) {
  return {
    points: points[scope],
    duration: WINDOW_SECONDS,
    blockDuration: BLOCK_SECONDS,
    keyPrefix: `cloakroom:rate:${scope}`,
  };
}

/** Counters in this process: a request costs under a microsecond. */
export function memoryRateLimits(points: RatePoints): RateLimits {
  return rateLimits(
    points,
    (scope) => new RateLimiterMemory(counterSettings(scope, points)),
    async () => {},
  );
}

export function rateLimits(
  points: RatePoints,
  counterFor: (scope: RateScope) => RateCounter,
  close: () => Promise<void>,
): RateLimits {
  const counters = new Map(RATE_SCOPES.map((scope) => [scope, counterFor(scope)]));
  const countIn = async (scope: RateScope, client: string): Promise<RateVerdict> => {
    const limit = points[scope];
    try {
      const answer = await counters.get(scope)?.consume(client);
      const wait = answer?.msBeforeNext ?? 0;
      return {
        scope,
        limit,
        remaining: answer?.remainingPoints ?? limit,
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
    [Symbol.asyncDispose]: close,
  };
}

/** At least one: a wait of zero seconds would be no wait. */
function seconds(ms: number): number {
  return Math.max(1, Math.ceil(ms / 1_000));
}
