import type { TenantId, Uuid } from "../base/ids.js";
import { MEMORY_PER_BODY_BYTE } from "./body-sizes.js";
import { MemoryPool, type MemoryPools } from "./memory-pool.js";
import { ReservedMemory } from "./reserved-memory.js";
import { UnprovenMemory } from "./unproven-memory.js";

const MB = 1024 * 1024;

/** 128 bodies of 64 KB. */
const SMALL_POOL_BYTES = 64 * MB;

/** 8 bodies of 64 KB, or about a thousand of the few hundred bytes that they mostly have. */
const UNPROVEN_BYTES = 4 * MB;
/** 32 bodies of 16 KB, or about a thousand of usual length. */
const SIGN_IN_BYTES = 4 * MB;

/** Number of largest bodies in progress at a time, of all callers. An application may hold a third of the free memory. */
const LARGE_BODIES = 8;

/**
 * The memory for bodies that arrive or are in progress, of all requests together. Each client address, tenant,
 * application and session has a share. Unauthenticated callers have a small part of their own, fair by network, and so
 * have those that sign in.
 */
export class MemoryBudget implements MemoryPools {
  readonly small = new MemoryPool(SMALL_POOL_BYTES);
  readonly large: MemoryPool;
  readonly unproven = new UnprovenMemory(UNPROVEN_BYTES);
  readonly signIn = new UnprovenMemory(SIGN_IN_BYTES);

  /** @param largestBody size limit of a body, in bytes. */
  constructor(largestBody: number) {
    this.large = new MemoryPool(LARGE_BODIES * MEMORY_PER_BODY_BYTE * largestBody);
  }

  /** For work on behalf of an application, without a request. The caller closes it. */
  openFor(tenantId: TenantId, applicationId: Uuid): ReservedMemory {
    const reserved = this.open(() => `code of ${tenantId}`);
    reserved.prove({ kind: "key", tenantId, applicationId, sessionId: undefined, party: "back end" });
    return reserved;
  }

  /**
   * @param readClient returns the client's address; called at first use.
   * @param readNetwork returns the network of that address.
   * @param readAnswered whether the response is complete; absent: a request without a response.
   */
  open(readClient: () => string, readNetwork: () => string = readClient, readAnswered?: () => boolean): ReservedMemory {
    return new ReservedMemory(this, readClient, readNetwork, readAnswered);
  }
}
