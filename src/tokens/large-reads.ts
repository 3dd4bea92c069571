import { isLargeToken, type LargeToken, SMALL_TOKEN_BYTES } from "../store/tokens/token-reads.js";
import type { Work } from "../store/transactions/transaction.js";
import { countMonthlyActivity } from "./activity.js";
import type { ReadToken } from "./read.js";

/** Runs a transaction that reads a token of at most so many sealed bytes. */
export type ReadOfAtMost = (maxBytes: number) => Promise<ReadToken | LargeToken>;

export interface SizedReads {
  readonly small: ReadOfAtMost;
  /** In a transaction of its own: a shared one would hold the large values of all its requests. */
  readonly large: ReadOfAtMost;
  /** Runs the transaction that counts the token's first read of the month. */
  count(work: Work<void>): Promise<void>;
}

/**
 * Reads a token, and counts its first read of the month. If the token is large, the request first waits for its share
 * of memory, which it holds until it ends.
 * @throws {Fault} unavailable if there is no memory for too long.
 */
export async function readBySize(reads: SizedReads): Promise<ReadToken> {
  let found = await reads.small(SMALL_TOKEN_BYTES);
  // The token may grow while its read waits.
  while (isLargeToken(found)) found = await reads.large(found.sealedBytes);
  // After the commit: if a token's first read of the month is interrupted here, its next read counts.
  const { id, active_month: month } = found.row;
  if (found.isFirstUse) await reads.count((tx) => countMonthlyActivity(tx, id, month));
  return found;
}
