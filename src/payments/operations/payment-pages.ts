import { unavailable } from "../../base/fault.js";
import { type Page, pageOffset } from "../../base/page.js";
import {
  countPaymentsWithin,
  findStepEnd,
  listPaymentRows,
  listPaymentsWithin,
  type PaymentKey,
  type PaymentListing,
  type PaymentRange,
  type PaymentRow,
} from "../../store/payments/payments.js";
import type { Transaction } from "../../store/transactions/transaction.js";

/**
 * Payments that one statement compares with the containers of rules (1.7 us each). A statement over a million of them took
 * 1.7 s of the two that it has.
 */
const COMPARED_AT_ONCE = 50_000;
/** As long as a list of tokens: its transaction ends after 30 s. */
const MAX_MS = 15_000;

interface Reading {
  /** Of the request. A list that is not waited for any more ends. */
  readonly signal: AbortSignal;
  /** Payments of a step. */
  readonly size?: number;
  /** Milliseconds of a monotonic clock. */
  readonly now?: () => number;
}

/**
 * The payments of a page, and the number of all that the caller may see.
 * @throws {Fault} unavailable after {@link MAX_MS}.
 */
export async function pageOfPayments(
  tx: Pick<Transaction, "query">,
  listing: PaymentListing,
  { signal, size = COMPARED_AT_ONCE, now = () => performance.now() }: Reading,
): Promise<Page<PaymentRow>> {
  const { page: _, size: limit, ...filter } = listing;
  const isShort = filter.id !== undefined || filter.externalTerm !== undefined;
  if (isShort || filter.scopes.length === 0) return tx.query(listPaymentRows, listing);
  const begun = now();
  const items: PaymentRow[] = [];
  let offset = pageOffset(listing);
  let total = 0;
  for (let after: PaymentKey | undefined; ; ) {
    if (signal.aborted) throw unavailable("a list is not waited for any more");
    if (now() - begun > MAX_MS) throw unavailable("a list compares too many payments");
    const through: PaymentKey | undefined = (await tx.query(findStepEnd, { ...filter, after, size })) ?? undefined;
    const range: PaymentRange = { ...filter, after, through };
    const n = await tx.query(countPaymentsWithin, range);
    const rest = limit - items.length;
    if (n > offset && rest > 0) items.push(...(await tx.query(listPaymentsWithin, { ...range, offset, limit: rest })));
    offset = Math.max(0, offset - n);
    total += n;
    if (!through) return { items, total };
    after = through;
  }
}
