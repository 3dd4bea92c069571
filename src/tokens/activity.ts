import { monthOf } from "../base/month.js";
import { countActiveToken } from "../store/token-counts.js";
import { markTokenActive } from "../store/tokens.js";
import type { Transaction } from "../store/transaction.js";

/** Whether a token that is read or used now has not been counted as active in this month yet. */
export function isFirstUse(tx: Transaction, activeMonth: string): boolean {
  return activeMonth < monthOf(tx.now);
}

/**
 * Counts a token that is read or used as active in this month, once. Only its first touch in a month writes anything:
 * the month is part of the row that was read.
 */
export async function touch(tx: Transaction, id: string, activeMonth: string): Promise<void> {
  if (!isFirstUse(tx, activeMonth)) return;
  const month = monthOf(tx.now);
  if (await markTokenActive(tx, id, month)) countActiveToken(tx, month);
}
