import { LRUCache } from "lru-cache";
import type { TenantId } from "../base/ids.js";

/** When each tenant's rights were last found unchanged by the guard of a flight, and under which revision. */
export class ConfirmedRevisions {
  readonly #latest = new LRUCache<TenantId, { readonly revision: number; readonly at: number }>({ max: 10_000 });

  /** @param at before the guard ran. */
  add(tenantId: TenantId, revision: number, at: number): void {
    const known = this.#latest.get(tenantId);
    // Flights need not land in the order in which they departed.
    if (!known || known.revision < revision || (known.revision === revision && known.at < at)) {
      this.#latest.set(tenantId, { revision, at });
    }
  }

  /** By `performance.now()`; -Infinity where that is not known. */
  of(tenantId: TenantId, revision: number): number {
    const known = this.#latest.get(tenantId);
    return known?.revision === revision ? known.at : Number.NEGATIVE_INFINITY;
  }
}
