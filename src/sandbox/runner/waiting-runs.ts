import type { QueueLimits } from "../limits.js";

export interface QueuedTask {
  readonly tenant: string;
  /** Memory that it takes while it waits, in bytes. */
  readonly bytes: number;
}

/** Runs that wait for a thread: in order within a tenant, and in turns among tenants. */
export class WaitingRuns<T extends QueuedTask> {
  readonly #limits: QueueLimits;
  /** The tenant with the next turn comes first. */
  readonly #byTenant = new Map<string, T[]>();
  #size = 0;
  #bytes = 0;

  constructor(limits: QueueLimits) {
    this.#limits = limits;
  }

  get size(): number {
    return this.#size;
  }

  /** @returns whether there is room for it. */
  add(waiting: T): boolean {
    const own = this.#byTenant.get(waiting.tenant) ?? [];
    const { total, perTenant, bytes } = this.#limits;
    const left = bytes - this.#bytes - waiting.bytes;
    if (this.#size >= total || own.length >= perTenant || left < 0) return false;
    // As much as is left for others: one tenant alone gets half, and something remains for a newcomer.
    const held = own.reduce((sum, each) => sum + each.bytes, waiting.bytes);
    if (own.length > 0 && held > left) return false;
    own.push(waiting);
    this.#byTenant.set(waiting.tenant, own);
    this.#size += 1;
    this.#bytes += waiting.bytes;
    return true;
  }

  /** Whether a task of the tenant waits. */
  has(tenant: string): boolean {
    return this.#byTenant.has(tenant);
  }

  /** @returns whether it was still waiting. */
  remove(waiting: T): boolean {
    const own = this.#byTenant.get(waiting.tenant) ?? [];
    const index = own.indexOf(waiting);
    if (index < 0) return false;
    own.splice(index, 1);
    if (own.length === 0) this.#byTenant.delete(waiting.tenant);
    this.#size -= 1;
    this.#bytes -= waiting.bytes;
    return true;
  }

  /**
   * Offers the first run of each tenant in turn, round after round, until none is taken.
   * @param take returns whether it takes the run.
   */
  drain(take: (waiting: T) => boolean): void {
    let taken = true;
    while (taken) {
      taken = false;
      for (const tenant of [...this.#byTenant.keys()]) {
        const first = this.#byTenant.get(tenant)?.[0];
        if (first === undefined || !take(first)) continue;
        taken = true;
        this.remove(first);
        this.#toEnd(tenant);
      }
    }
  }

  #toEnd(tenant: string): void {
    const own = this.#byTenant.get(tenant);
    if (own === undefined) return;
    this.#byTenant.delete(tenant);
    this.#byTenant.set(tenant, own);
  }
}
