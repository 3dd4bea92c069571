import { Fault } from "../base/fault.js";
import type { RequestMemory } from "../memory/memory-lease.js";
import { isLargeToken, type LargeToken } from "../store/tokens/bounded-reads.js";
import type { ReadToken } from "./read.js";

/** Sealed bytes of a token that is read without counting its memory. */
export const SMALL_TOKEN_BYTES = 64 * 1024;

/**
 * Body bytes that use as much memory as one sealed byte of a token that is read: it is neither parsed together with the
 * rest of a body nor sent to the database. 128 reads of 5 MB at once took the server to 390 MB.
 */
export const BODY_BYTES_FOR_SEALED = 1 / 2;

/** Runs a transaction that reads a token of at most so many sealed bytes. */
export type ReadOfAtMost = (mostBytes: number) => Promise<ReadToken | LargeToken>;

/** How to read a token, by its size. */
export interface SizedReads {
  readonly small: ReadOfAtMost;
  /** In a transaction of its own: a shared one would hold the large values of all its requests. */
  readonly large: ReadOfAtMost;
}

/**
 * Reads a token. If it is large, the request first waits for its share of memory, which it holds until it ends.
 * @param largestBody size limit of a body in bytes. The memory for bodies is made for such sizes, so a larger token,
 *   stored under an earlier limit, counts as one of them.
 * @throws {Fault} unavailable if there is no memory for too long.
 */
export async function readBySize(memory: RequestMemory, largestBody: number, reads: SizedReads): Promise<ReadToken> {
  let found = await reads.small(SMALL_TOKEN_BYTES);
  // The token may grow while its read waits.
  while (isLargeToken(found)) {
    const { sealedBytes } = found;
    const reservation = await memory.reserve(BODY_BYTES_FOR_SEALED * Math.min(sealedBytes, largestBody));
    if (memory.isClosed) throw new Fault("unavailable", "The caller has disconnected.");
    let isHeld = false;
    try {
      found = await reads.large(sealedBytes);
      isHeld = !isLargeToken(found);
    } finally {
      if (!isHeld) reservation.shrink(0);
    }
  }
  return found;
}
