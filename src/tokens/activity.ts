import { firstOfMonth } from "../base/month.js";
import { countActiveToken } from "../store/tokens/token-counts.js";
import { markTokenActive, type TokenRow } from "../store/tokens/tokens.js";
import type { Transaction } from "../store/transactions/transaction.js";

/** Whether this read or use is the token's first in the month. */
export function isFirstUse(tx: Transaction, activeMonth: string): boolean {
  return activeMonth < firstOfMonth(tx.now);
}

/** The same for tokens that one request reads or uses. */
export async function countMonthlyActivities(
  tx: Transaction,
  rows: readonly Pick<TokenRow, "id" | "active_month">[],
): Promise<void> {
  const month = firstOfMonth(tx.now);
  const firstUsed = rows.filter(({ active_month }) => active_month < month);
  await Promise.all(firstUsed.map(({ id, active_month }) => countMonthlyActivity(tx, id, active_month)));
}

/** Only the first touch in a month writes, because the row that was read contains the month. */
export async function countMonthlyActivity(tx: Transaction, id: string, activeMonth: string): Promise<void> {
  if (!isFirstUse(tx, activeMonth)) return;
  const month = firstOfMonth(tx.now);
  if (await markTokenActive(tx, id, month)) countActiveToken(tx, month);
}
