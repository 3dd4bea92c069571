import { LRUCache } from "lru-cache";
import type { TenantId } from "../../base/ids.js";
import { lruEntries } from "../../base/lru-entries.js";

/**
 * The time at which the guard of a transaction last confirmed each tenant's rights, and the revision that it confirmed.
 */
export class ConfirmedRevisions {
  readonly #latest = new LRUCache<TenantId, { readonly revision: number; readonly at: number }>(lruEntries(20_000));

  /** @param at a time before the guard ran. */
  add(tenantId: TenantId, revision: number, at: number): void {
    const known = this.#latest.get(tenantId);
    // Transactions may end in another order than they started.
    if (!known || known.revision < revision || (known.revision === revision && known.at < at)) {
      this.#latest.set(tenantId, { revision, at });
    }
  }

  /** By `performance.now()`; -Infinity if unknown. */
  of(tenantId: TenantId, revision: number): number {
    const known = this.#latest.get(tenantId);
    return known?.revision === revision ? known.at : Number.NEGATIVE_INFINITY;
  }
}
