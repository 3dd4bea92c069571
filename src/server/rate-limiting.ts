import { createRateGate, type RateGate, unlimitedRateGate } from "../api/admission/rate-gate.js";
import { clientReader } from "../api/connection/client-address.js";
import type { OperatorLog } from "../api/observation/operator-log.js";
import { counterSettings, memoryRateLimits, type RateLimits, rateLimits } from "../rate-limits/rate-limits.js";
import { openSharedCounters, type SharedCounters } from "../rate-limits/shared-counters.js";
import { memorySignInLimits, type SignInLimits, signInLimits } from "../rate-limits/sign-in-limits.js";
import type { Config } from "../settings/config.js";
import type { Meters } from "../telemetry/meters.js";

/** The counters of this process, or those that the processes of this server share. */
export interface LocalCounters {
  readonly rateLimits: RateLimits;
  readonly signInLimits: SignInLimits;
}

/** The counters of requests and sign-ins. With CLOAKROOM_REDIS_URL they count for all replicas together. */
export interface RateCounters extends AsyncDisposable {
  /** Absent: requests have no limits. */
  readonly requests: RateLimits | undefined;
  readonly signIns: SignInLimits;
}

/** @param local those that the processes of this server share, if there are several. */
export async function openRateCounters(
  { rateLimits: points, redisUrl }: Config,
  log: OperatorLog,
  local?: LocalCounters,
): Promise<RateCounters> {
  if (!redisUrl) {
    return {
      requests: points && (local?.rateLimits ?? memoryRateLimits(points)),
      signIns: local?.signInLimits ?? memorySignInLimits(),
      [Symbol.asyncDispose]: async () => {},
    };
  }
  const counters: SharedCounters = await openSharedCounters(redisUrl, {
    onLost: () => log.warn({}, "Redis (CLOAKROOM_REDIS_URL) unreachable: rate limits are per process"),
    onBack: () => log.info({}, "Redis reachable again: rate limits are shared"),
  });
  return {
    requests: points && rateLimits(points, (scope) => counters.counterFor(counterSettings(scope, points))),
    signIns: signInLimits((settings) => counters.counterFor(settings)),
    [Symbol.asyncDispose]: () => counters.close(),
  };
}

export function configuredRateGate(
  limits: RateLimits | undefined,
  { trustedProxies }: Pick<Config, "trustedProxies">,
  meters: Meters,
): RateGate {
  if (!limits) return unlimitedRateGate;
  return createRateGate(limits, clientReader(trustedProxies), ({ scope }) => meters.rateRefused(scope));
}
