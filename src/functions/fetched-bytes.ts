import { HostFailure } from "../sandbox/host-calls.js";

const MB = 1024 * 1024;

/** Bytes of responses that tenants' code fetches at once in this process. */
export interface FetchLimits {
  readonly ofTenant: number;
  readonly ofAll: number;
  /** A tenant may hold this much whatever the others hold: the responses of the fetches that it is guaranteed. */
  readonly guaranteed: number;
}

/**
 * A run makes 64 calls at once, most of whose responses have some KB. A tenant has some 100 runs at once. Tenants whose
 * code runs at the same time are as few as threads, so what they are guaranteed adds 64 MB at most.
 */
const LIMITS: FetchLimits = { ofTenant: 32 * MB, ofAll: 128 * MB, guaranteed: 4 * MB };

/** Counts the bytes of responses that are being read for tenants' code: each may hold 1 MB for as long as its run. */
export class FetchedBytes {
  readonly #limits: FetchLimits;
  readonly #byTenant = new Map<string, number>();
  #all = 0;

  constructor(limits: FetchLimits = LIMITS) {
    this.#limits = limits;
  }

  /** @throws {HostFailure} if the tenant's code, or the code of all tenants, holds too much. Nothing is taken then. */
  take(tenantId: string, bytes: number): void {
    const { ofTenant, ofAll, guaranteed } = this.#limits;
    const ofThis = (this.#byTenant.get(tenantId) ?? 0) + bytes;
    if (ofThis > ofTenant) {
      throw new HostFailure("ELIMIT", `the responses that your code fetches at once are larger than ${ofTenant} bytes`);
    }
    if (this.#all + bytes > ofAll && ofThis > guaranteed)
      throw new HostFailure("ELIMIT", "too much is being fetched at once: try again");
    this.#all += bytes;
    this.#byTenant.set(tenantId, ofThis);
  }

  release(tenantId: string, bytes: number): void {
    this.#all -= bytes;
    const left = (this.#byTenant.get(tenantId) ?? 0) - bytes;
    if (left > 0) this.#byTenant.set(tenantId, left);
    else this.#byTenant.delete(tenantId);
  }
}
