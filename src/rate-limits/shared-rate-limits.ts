import { RateLimiterMemory, RateLimiterRedis } from "rate-limiter-flexible";
import type { Sensitive } from "../crypto/sensitive.js";
import { counterSettings, type RateLimits, rateLimits } from "./rate-limits.js";
import type { RatePoints } from "./rate-scope.js";

/** Milliseconds. After this time the request is counted in memory instead. */
const COMMAND_TIMEOUT = 100;
const CONNECT_TIMEOUT = 2_000;
/** Milliseconds between attempts to reconnect. */
const RETRY_EVERY = 500;

/** Events of the connection to the shared counters. */
export interface SharedCountersEvents {
  /** Until it is back, requests are counted in this process alone. */
  onLost(): void;
  onBack(): void;
}

/**
 * Counters in a Valkey or Redis that all replicas use. While it does not answer, each process counts in memory: a vault
 * that stops together with its counters would be less safe, not more.
 */
export async function sharedRateLimits(
  url: Sensitive<string>,
  points: RatePoints,
  { onLost, onBack }: SharedCountersEvents,
): Promise<RateLimits> {
  const { Redis } = await import("ioredis");
  const client = new Redis(url.reveal(), {
    commandTimeout: COMMAND_TIMEOUT,
    connectTimeout: CONNECT_TIMEOUT,
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    retryStrategy: () => RETRY_EVERY,
  });
  let isLost = false;
  const lost = () => {
    if (!isLost) onLost();
    isLost = true;
  };
  // The errors contain addresses, and only the loss of the connection matters.
  client.on("error", lost);
  client.on("close", lost);
  client.on("ready", () => {
    if (isLost) onBack();
    isLost = false;
  });
  // Otherwise each replica would silently count the first requests alone.
  await new Promise<void>((resolve) => {
    client
      .once("ready", resolve)
      .once("error", () => resolve())
      .once("close", resolve);
  });
  const counterFor = (scope: Parameters<typeof counterSettings>[0]) =>
    new RateLimiterRedis({
      ...counterSettings(scope, points),
      storeClient: client,
      rejectIfRedisNotReady: true,
      insuranceLimiter: new RateLimiterMemory(counterSettings(scope, points)),
    });
  return rateLimits(points, counterFor, async () => {
    client.removeAllListeners();
    client.on("error", () => {});
    client.disconnect();
  });
}
