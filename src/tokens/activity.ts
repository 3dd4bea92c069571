import { firstOfMonth } from "../base/month.js";
import { countActiveToken } from "../store/tokens/token-counts.js";
import { markTokenActive } from "../store/tokens/tokens.js";
import type { Transaction } from "../store/transactions/transaction.js";

/** Whether this read or use is the token's first in the month. */
export function isFirstUse(tx: Transaction, activeMonth: string): boolean {
  return activeMonth < firstOfMonth(tx.now);
}

/** Only the first touch in a month writes, because the row that was read contains the month. */
export async function countMonthlyActivity(tx: Transaction, id: string, activeMonth: string): Promise<void> {
  if (!isFirstUse(tx, activeMonth)) return;
  const month = firstOfMonth(tx.now);
  if (await markTokenActive(tx, id, month)) countActiveToken(tx, month);
}
