import { BYTES_FOR_EACH } from "./body-sizes.js";
import { MemoryLease } from "./memory-lease.js";
import { MemoryPool, type MemoryPools } from "./memory-pool.js";

const MB = 1024 * 1024;

/** 128 bodies of 64 KB. */
const SMALL_POOL_BYTES = 64 * MB;

/** Bodies of the largest size that are worked on at a time, of all callers. */
const LARGE_BODIES = 6;

/**
 * The memory for bodies, of all requests together: for those that arrive, and for those that are worked on. Each client address,
 * tenant, application and session has a share, and callers that have proved nothing have a small one together.
 */
export class MemoryBudget implements MemoryPools {
  readonly small = new MemoryPool(SMALL_POOL_BYTES);
  readonly large: MemoryPool;

  /** @param largestBody bytes of the largest body that is taken. */
  constructor(largestBody: number) {
    this.large = new MemoryPool(LARGE_BODIES * BYTES_FOR_EACH * largestBody);
  }

  /** @param readClient the client's address, asked for when it is first needed. */
  open(readClient: () => string): MemoryLease {
    return new MemoryLease(this, readClient);
  }
}
