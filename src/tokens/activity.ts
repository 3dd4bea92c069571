import { countActive } from "../store/token-counts.js";
import { markActive } from "../store/tokens.js";
import type { Transaction } from "../store/transaction.js";

/** The month of a time, as its first day in UTC: YYYY-MM-DD. */
export function monthOf(time: Date): string {
  return `${time.toISOString().slice(0, 7)}-01`;
}

/**
 * Counts a token that is read or used as active in this month, once. Only its first touch in a month writes anything:
 * the month is part of the row that was read.
 */
export async function touch(tx: Transaction, id: string, activeMonth: string): Promise<void> {
  const month = monthOf(tx.now);
  if (activeMonth >= month) return;
  if (await tx.ask(markActive, { id, month })) tx.tell(countActive, month);
}
