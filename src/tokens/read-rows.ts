import type { Fault } from "../base/fault.js";
import type { RequestMemory } from "../memory/memory-lease.js";
import { findBoundedToken, isLargeToken, type LargeToken } from "../store/tokens/bounded-reads.js";
import type { TokenRowWithCvc } from "../store/tokens/tokens.js";
import type { Transaction } from "../store/transactions/transaction.js";
import { BODY_BYTES_FOR_SEALED, SMALL_TOKEN_BYTES } from "./large-reads.js";

const MB = 1024 * 1024;

/** Maximum sealed bytes of the tokens that one request reads: three of the largest. */
export const MAX_READ_BYTES = 16 * MB;

/** Tokens per query. The small ones of a group have at most {@link SMALL_TOKEN_BYTES} together. */
const GROUP = 20;

/**
 * Reads tokens for one request, within its memory budget: large ones after memory for all of them is reserved.
 * @throws {Fault} unavailable if there is no memory.
 * @param tooMany the fault for tokens of more than {@link MAX_READ_BYTES}.
 */
export async function readTokenRows(
  tx: Transaction,
  ids: readonly string[],
  memory: RequestMemory,
  tooMany: () => Fault,
): Promise<readonly (TokenRowWithCvc | undefined)[]> {
  const found: (TokenRowWithCvc | LargeToken | undefined)[] = [];
  for (let from = 0; from < ids.length; from += GROUP) {
    const group = ids.slice(from, from + GROUP);
    const mostBytes = Math.floor(SMALL_TOKEN_BYTES / group.length);
    found.push(...(await Promise.all(group.map((id) => findBoundedToken(tx, { id, mostBytes })))));
  }
  const bytes = found.reduce((sum, token) => sum + sealedBytesOf(token), 0);
  if (bytes > MAX_READ_BYTES) throw tooMany();
  if (bytes > SMALL_TOKEN_BYTES) memory.reserveNow(BODY_BYTES_FOR_SEALED * bytes);
  return Promise.all(found.map((token) => (token && isLargeToken(token) ? readLarge(tx, token.id, tooMany) : token)));
}

function sealedBytesOf(token: TokenRowWithCvc | LargeToken | undefined): number {
  if (!token) return 0;
  return isLargeToken(token) ? token.sealedBytes : token.data.length + (token.attributes?.length ?? 0);
}

async function readLarge(tx: Transaction, id: string, tooMany: () => Fault): Promise<TokenRowWithCvc | undefined> {
  const token = await findBoundedToken(tx, { id, mostBytes: MAX_READ_BYTES });
  // It has grown since its size was read.
  if (token && isLargeToken(token)) throw tooMany();
  return token;
}
