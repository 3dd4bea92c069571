import type { Fault } from "../base/fault.js";
import type { RequestMemory } from "../memory/memory-lease.js";
import { findToken, type TokenRowWithCvc } from "../store/tokens/tokens.js";
import type { Transaction } from "../store/transactions/transaction.js";

const MB = 1024 * 1024;

/** Maximum sealed bytes of the tokens that one request reads: three of the largest. */
export const MAX_READ_BYTES = 16 * MB;

/** Tokens per read. Their size is known only after the read. */
const GROUP = 20;

/** Above this size, sealed tokens count towards their request's memory. */
const FEW_BYTES = 64 * 1024;

/**
 * Body bytes that use as much memory as one sealed byte. Sealed tokens are not parsed together with the rest of a body.
 */
const BODY_BYTES_FOR_EACH = 1 / 2;

/**
 * Reads tokens for one request, within its memory budget.
 * @throws {Fault} unavailable if there is no memory.
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
