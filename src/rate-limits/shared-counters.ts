import { RateLimiterRedis, RateLimiterRes } from "rate-limiter-flexible";
import type { Sensitive } from "../crypto/sensitive.js";
import { BoundedCounter } from "./bounded-counter.js";
import type { Counter, CounterSettings } from "./counter.js";

/** Milliseconds. After this time the request is counted in memory instead. */
const COMMAND_TIMEOUT = 100;
const CONNECT_TIMEOUT = 2_000;
/** Milliseconds between attempts to reconnect. */
const RETRY_EVERY = 500;

export interface SharedCountersEvents {
  /** Until it is back, requests are counted in this process alone. */
  onLost(): void;
  onBack(): void;
}

/** A connection to a Valkey or Redis in which all replicas count. */
export interface SharedCounters {
  /** A counter there. While the server does not respond, it counts in memory. */
  counterFor(settings: CounterSettings): Counter;
  close(): Promise<void>;
}

/**
 * Connects to the counters of all replicas. While they do not respond, each process counts in memory: a vault that stops
 * together with its counters would be less safe, not more.
 */
export async function openSharedCounters(
  url: Sensitive<string>,
  { onLost, onBack }: SharedCountersEvents,
): Promise<SharedCounters> {
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
  return {
    counterFor: (settings) =>
      new InsuredCounter(
        new RateLimiterRedis({ ...settings, storeClient: client, rejectIfRedisNotReady: true }),
        new BoundedCounter(settings),
      ),
    async close() {
      client.removeAllListeners();
      client.on("error", () => {});
      client.disconnect();
    },
  };
}

/** Counts in this process while the shared counter fails. */
class InsuredCounter implements Counter {
  readonly #shared: Counter;
  readonly #own: Counter;

  constructor(shared: Counter, own: Counter) {
    this.#shared = shared;
    this.#own = own;
  }

  get(key: string): Promise<RateLimiterRes | null> {
    return this.#shared.get(key).catch(() => this.#own.get(key));
  }

  consume(key: string): Promise<RateLimiterRes> {
    return this.#shared.consume(key).catch((error) => {
      if (error instanceof RateLimiterRes) throw error;
      return this.#own.consume(key);
    });
  }
}
