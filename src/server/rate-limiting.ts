import { createRateGate, openGate, type RateGate } from "../api/admission/rate-gate.js";
import { clientReader } from "../api/connection/client-address.js";
import type { OperatorLog } from "../api/observation/operator-log.js";
import { memoryRateLimits, type RateLimits } from "../rate-limits/rate-limits.js";
import { sharedRateLimits } from "../rate-limits/shared-rate-limits.js";
import type { Config } from "../settings/config.js";
import type { Meters } from "../telemetry/meters.js";

/**
 * The rate limits of requests, as configured.
 * @param counters those that the processes of this server share, if there are several.
 */
export async function openRateGate(
  { rateLimits: points, redisUrl, trustedProxies }: Config,
  log: OperatorLog,
  meters: Meters,
  counters?: RateLimits,
): Promise<RateGate & AsyncDisposable> {
  if (!points) return { ...openGate, [Symbol.asyncDispose]: async () => {} };
  const limits = redisUrl
    ? await sharedRateLimits(redisUrl, points, {
        onLost: () => log.warn({}, "Redis (CLOAKROOM_REDIS_URL) unreachable: rate limits are per process"),
        onBack: () => log.info({}, "Redis reachable again: rate limits are shared"),
      })
    : (counters ?? memoryRateLimits(points));
  return {
    ...createRateGate(limits, clientReader(trustedProxies), ({ scope }) => meters.rateRefused(scope)),
    [Symbol.asyncDispose]: () => limits[Symbol.asyncDispose](),
  };
}
