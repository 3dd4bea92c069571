import { LRUCache } from "lru-cache";
import type { TenantId } from "../base/ids.js";
import { MINUTE_MS } from "./due.js";

/**
 * The last minute of each tenant into which this process has brought log rows: that the minute is to be sealed need not be
 * noted again, which saves every other flight a statement. Only what was acknowledged counts.
 */
export class LoggedMinutes {
  readonly #minutes = new LRUCache<TenantId, number>({ max: 10_000 });

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
