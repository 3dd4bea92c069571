import type { TenantId } from "../base/ids.js";

/** Tenants that one replica processes at a time. */
const TENANTS_AT_ONCE = 16;

/** Runs one kind of work, for each tenant one run at a time, when it is woken. */
export class TenantWorkers {
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

  /** Starts work for a tenant. If there is no room, the job finds it later. */
  wake(tenantId: TenantId): void {
    if (this.#stopping.signal.aborted) return;
    if (this.#working.has(tenantId)) this.#again.add(tenantId);
    else if (this.#working.size < TENANTS_AT_ONCE) this.#working.set(tenantId, this.#take(tenantId));
  }

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
