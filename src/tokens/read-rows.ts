import type { Fault } from "../base/fault.js";
import type { RequestMemory } from "../memory/memory-lease.js";
import { findToken, type TokenRowWithCvc } from "../store/tokens.js";
import type { Transaction } from "../store/transaction.js";

const MB = 1024 * 1024;

/** Sealed bytes of all tokens that one request reads: three of the largest. */
export const MAX_READ_BYTES = 16 * MB;

/** Tokens that are read at a time. Their size is known once they are there. */
const GROUP = 20;

/** Sealed tokens of more bytes are counted as memory of their request. */
const FEW_BYTES = 64 * 1024;

/** How many bytes of a body take as much memory as two sealed ones, which are not parsed with all that surrounds them. */
const BODY_BYTES_FOR_EACH = 1 / 2;

/**
 * Reads tokens for one request, within its share of the memory.
 * @throws {Fault} unavailable where there is no memory.
 * @param tooMany the fault for tokens of more than {@link MAX_READ_BYTES}.
 */
export async function readTokenRows(
  tx: Transaction,
  ids: readonly string[],
  memory: RequestMemory,
  tooMany: () => Fault,
): Promise<readonly (TokenRowWithCvc | undefined)[]> {
  const rows: (TokenRowWithCvc | undefined)[] = [];
  let bytes = 0;
  for (let from = 0; from < ids.length; from += GROUP) {
    const group = await Promise.all(ids.slice(from, from + GROUP).map((id) => findToken(tx, id)));
    for (const row of group) {
      rows.push(row);
      bytes += row?.data.length ?? 0;
    }
    if (bytes > MAX_READ_BYTES) throw tooMany();
  }
  if (bytes > FEW_BYTES) memory.reserveNow(bytes * BODY_BYTES_FOR_EACH);
  return rows;
}
