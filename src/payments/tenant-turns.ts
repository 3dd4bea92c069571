import type { TenantId } from "../base/ids.js";

/** Tenants that one replica works for at a time. */
const TENANTS_AT_ONCE = 16;

/** Does a kind of work for one tenant at a time each, as soon as it is told that there is some. */
export class TenantTurns {
  readonly #work: (tenantId: TenantId, signal: AbortSignal) => Promise<void>;
  readonly #onFailure: (tenantId: TenantId, error: unknown) => void;
  readonly #working = new Map<TenantId, Promise<void>>();
  readonly #again = new Set<TenantId>();
  readonly #stopping = new AbortController();

  constructor(
    work: (tenantId: TenantId, signal: AbortSignal) => Promise<void>,
    onFailure: (tenantId: TenantId, error: unknown) => void,
  ) {
    this.#work = work;
    this.#onFailure = onFailure;
  }

  /** There is work for a tenant. What is turned away for lack of room is found again by the job. */
  wake(tenantId: TenantId): void {
    if (this.#stopping.signal.aborted) return;
    if (this.#working.has(tenantId)) this.#again.add(tenantId);
    else if (this.#working.size < TENANTS_AT_ONCE) this.#working.set(tenantId, this.#take(tenantId));
  }

  /** Starts nothing more, and waits for work in progress. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await Promise.all(this.#working.values());
  }

  async #take(tenantId: TenantId): Promise<void> {
    await this.#work(tenantId, this.#stopping.signal).catch((error: unknown) => this.#onFailure(tenantId, error));
    this.#working.delete(tenantId);
    if (this.#again.delete(tenantId)) this.wake(tenantId);
  }
}
