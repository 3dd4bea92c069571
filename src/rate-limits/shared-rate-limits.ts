import { RateLimiterMemory, RateLimiterRedis } from "rate-limiter-flexible";
import type { Sensitive } from "../crypto/sensitive.js";
import { counterSettings, type RateLimits, rateLimits } from "./rate-limits.js";
import type { RatePoints } from "./rate-scope.js";

/** Milliseconds. A counter is worth no more of a request's time: after it, memory counts. */
const COMMAND_TIMEOUT = 100;
const CONNECT_TIMEOUT = 2_000;
/** Milliseconds between attempts to reach a server that is away. */
const RETRY_EVERY = 500;

/** What is told of the server that keeps the counters. */
export interface SharedCountersEvents {
  /** Requests are counted in this process alone until it is back. */
  onLost(): void;
  onBack(): void;
}

/**
 * Counters in a Valkey or Redis that all replicas use. While it does not answer each process counts by itself, in memory:
 * a vault that stops when its counters are away would be less safe, not more.
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
  // Its errors name addresses; what matters of them is that the server is away.
  client.on("error", lost);
  client.on("close", lost);
  client.on("ready", () => {
    if (isLost) onBack();
    isLost = false;
  });
  // What came before would be counted by each replica alone, without a word.
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
