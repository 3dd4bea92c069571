import { LRUCache } from "lru-cache";
import { MINUTE_MS } from "../../base/clock.js";
import type { TenantId } from "../../base/ids.js";
import { lruEntries } from "../../base/lru-entries.js";

/**
 * The last minute of each tenant for which this process has noted log rows. The minute need not be noted again, which
 * saves every second transaction a statement. Counts only acknowledged commits.
 */
export class LoggedMinutes {
  readonly #minutes = new LRUCache<TenantId, number>(lruEntries(10_000));

  has(tenantId: TenantId, at: Date): boolean {
    return this.#minutes.get(tenantId) === minuteOf(at);
  }

  add(tenantId: TenantId, at: Date): void {
    this.#minutes.set(tenantId, minuteOf(at));
  }
}

function minuteOf(at: Date): number {
  return Math.floor(at.getTime() / MINUTE_MS);
}
