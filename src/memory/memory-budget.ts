import { MemoryLease } from "./memory-lease.js";
import { MemoryPool } from "./memory-pool.js";

const MB = 1024 * 1024;

/** Bodies up to this size have a pool of their own, so large ones never delay them. */
export const SMALL_BODY_BYTES = 64 * 1024;

/**
 * Memory that a request needs for each byte of its body: the received and the joined bytes, their text, values, sealed
 * values and statements. A text of 5 MB takes 40 MB.
 */
export const BYTES_FOR_EACH = 8;

/** 128 bodies of 64 KB. */
const SMALL_POOL_BYTES = 64 * MB;

/** Number of largest bodies in progress at a time, of all callers. */
const LARGE_BODIES = 6;

/**
 * The memory for bodies that arrive or are in progress, of all requests together. Each client address, tenant,
 * application and session has a share; unauthenticated callers share a small part.
 */
export class MemoryBudget {
  readonly small = new MemoryPool(SMALL_POOL_BYTES);
  readonly large: MemoryPool;

  /** @param largestBody size limit of a body, in bytes. */
  constructor(largestBody: number) {
    this.large = new MemoryPool(LARGE_BODIES * BYTES_FOR_EACH * largestBody);
  }

  /** @param readClient returns the client's address; called at first use. */
  open(readClient: () => string): MemoryLease {
    return new MemoryLease(this, readClient);
  }
}
