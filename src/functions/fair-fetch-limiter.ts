import { EgressError } from "../egress/egress-error.js";

/** Fetches of tenants' code in progress at once in this process. */
export interface FetchLimits {
  readonly ofTenant: number;
  readonly ofAll: number;
  /** A tenant may have this many whatever the others have: some destinations take 25 s to respond. */
  readonly guaranteed: number;
}

/**
 * Twenty runs that began 1,280 fetches at once delayed another tenant's call by up to 2.5 s, and by 0.2 s with this limit
 * (measured). 32 is also the limit of connections to one destination.
 */
const LIMITS: FetchLimits = { ofTenant: 32, ofAll: 128, guaranteed: 4 };

interface Waiting {
  readonly begin: () => void;
}

/**
 * Lets a limited number of fetches be in progress: those of one tenant in the order in which they came, and those of
 * several in turns.
 */
export class FairFetchLimiter {
  readonly #limits: FetchLimits;
  /** The tenant with the next turn comes first. */
  readonly #waiting = new Map<string, Set<Waiting>>();
  readonly #running = new Map<string, number>();
  #all = 0;

  constructor(limits: FetchLimits = LIMITS) {
    this.#limits = limits;
  }

  /**
   * Runs `fetch` when it is the tenant's turn. `fetch` must end when the signal aborts.
   * @throws {EgressError} `aborted` if the signal aborts before; the error of `fetch`.
   */
  async take<T>(tenantId: string, signal: AbortSignal, fetch: () => Promise<T>): Promise<T> {
    if (signal.aborted) throw new EgressError("aborted");
    if (this.#hasRoom(tenantId)) this.#count(tenantId, 1);
    else await this.#turn(tenantId, signal);
    try {
      return await fetch();
    } finally {
      this.#count(tenantId, -1);
      this.#beginNext();
    }
  }

  #hasRoom(tenantId: string): boolean {
    const { ofTenant, ofAll, guaranteed } = this.#limits;
    const running = this.#running.get(tenantId) ?? 0;
    return running < guaranteed || (running < ofTenant && this.#all < ofAll);
  }

  #count(tenantId: string, change: 1 | -1): void {
    this.#all += change;
    const running = (this.#running.get(tenantId) ?? 0) + change;
    if (running > 0) this.#running.set(tenantId, running);
    else this.#running.delete(tenantId);
  }

  async #turn(tenantId: string, signal: AbortSignal): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const own = this.#waiting.get(tenantId) ?? new Set();
    const waiting: Waiting = { begin: resolve };
    this.#waiting.set(tenantId, own.add(waiting));
    const abort = () => {
      this.#leave(tenantId, waiting);
      reject(new EgressError("aborted"));
    };
    signal.addEventListener("abort", abort, { once: true });
    try {
      await promise;
    } finally {
      signal.removeEventListener("abort", abort);
    }
  }

  #leave(tenantId: string, waiting: Waiting): void {
    const own = this.#waiting.get(tenantId);
    if (own?.delete(waiting) && own.size === 0) this.#waiting.delete(tenantId);
  }

  /** A fetch has ended, so at most one can begin. */
  #beginNext(): void {
    for (const [tenantId, own] of this.#waiting) {
      const [first] = own;
      if (!first || !this.#hasRoom(tenantId)) continue;
      this.#leave(tenantId, first);
      // Behind all other tenants.
      if (this.#waiting.delete(tenantId)) this.#waiting.set(tenantId, own);
      // Counted before it continues: another fetch of this turn of the event loop must not take its place.
      this.#count(tenantId, 1);
      first.begin();
      return;
    }
  }
}
