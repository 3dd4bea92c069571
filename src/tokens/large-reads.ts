import { isLargeToken, type LargeToken, SMALL_TOKEN_BYTES } from "../store/tokens/token-reads.js";
import type { ReadToken } from "./read.js";

/** Runs a transaction that reads a token of at most so many sealed bytes. */
export type ReadOfAtMost = (maxBytes: number) => Promise<ReadToken | LargeToken>;

/** How to read a token, by its size. */
export interface SizedReads {
  readonly small: ReadOfAtMost;
  /** In a transaction of its own: a shared one would hold the large values of all its requests. */
  readonly large: ReadOfAtMost;
}

/**
 * Reads a token. If it is large, the request first waits for its share of memory, which it holds until it ends.
 * @throws {Fault} unavailable if there is no memory for too long.
 */
export async function readBySize(reads: SizedReads): Promise<ReadToken> {
  let found = await reads.small(SMALL_TOKEN_BYTES);
  // The token may grow while its read waits.
  while (isLargeToken(found)) found = await reads.large(found.sealedBytes);
  return found;
}
