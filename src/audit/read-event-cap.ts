import { LRUCache } from "lru-cache";
import { MINUTE_MS } from "../base/clock.js";
import type { TenantId } from "../base/ids.js";
import { lruEntries } from "../base/lru-entries.js";

/** Events `token.read` of one tenant in a minute, of each process: a receiver takes about as many. */
export const MAX_READ_EVENTS = 6_000;

/** What a tenant has had of this minute. */
interface Counted {
  readonly minute: number;
  events: number;
}

const counted = new LRUCache<TenantId, Counted>(lruEntries(10_000));

/**
 * Whether a read of a token may have an event. Every list reads hundreds of tokens, and what a receiver cannot take would
 * fill the database for 30 days. All reads have their row in the log.
 */
export function mayHaveReadEvent(tenantId: TenantId, at: Date): boolean {
  const minute = Math.floor(at.getTime() / MINUTE_MS);
  const found = counted.get(tenantId);
  const current = found?.minute === minute ? found : { minute, events: 0 };
  if (current !== found) counted.set(tenantId, current);
  current.events += 1;
  return current.events <= MAX_READ_EVENTS;
}
