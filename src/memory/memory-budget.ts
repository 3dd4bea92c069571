import { MemoryLease } from "./memory-lease.js";
import { MemoryPool } from "./memory-pool.js";

const MB = 1024 * 1024;

/** Bodies up to this size have a pool of their own, so that large ones never delay them. */
export const SMALL_BODY_BYTES = 64 * 1024;

/**
 * What a request takes for each byte of its body while it is worked on: the bytes as they came and in one piece, their text,
 * values, what is sealed and what is sent to the database. A text of 5 MB takes 40 MB.
 */
export const BYTES_FOR_EACH = 8;

/** 128 bodies of 64 KB. */
const SMALL_POOL_BYTES = 64 * MB;

/** Bodies of the largest size that are worked on at a time, of all callers. */
const LARGE_BODIES = 6;

/**
 * The memory for bodies, of all requests together: for those that arrive, and for those that are worked on. Each client address,
 * tenant, application and session has a share, and callers that have proved nothing have a small one together.
 */
export class MemoryBudget {
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
