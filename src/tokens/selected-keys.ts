import { unavailable } from "../base/fault.js";
import { countTokenKeys, type KeyPage, listTokenKeys } from "../store/tokens/token-keys.js";
import { NONE_EXPIRED, type TokenKey, type TokenSelection } from "../store/tokens/token-selection.js";
import type { Transaction } from "../store/transactions/transaction.js";

/**
 * Keys read by one statement: in a walk of an index (20 to 80 ms), and with look-ups, comparisons or sorting (0.1 s). The
 * statement time limit is two seconds, so a machine may be ten times as slow.
 */
const WALKED_AT_ONCE = 100_000;
const COMPARED_AT_ONCE = 10_000;

/** All keys are read in order of age, from one index or from several parts of one. */
export function isOneWalk({ source, also, scopes }: TokenSelection): boolean {
  return source.kind !== "terms" && also.length === 0 && scopes.length === 0;
}

export function keysAtOnce(selection: TokenSelection): number {
  return isOneWalk(selection) && selection.without.kind === "few" ? WALKED_AT_ONCE : COMPARED_AT_ONCE;
}

/** Whether reading keys up to a limit reads few others, whatever the number of tokens. */
export function isDirect({ isNarrow, also, scopes, without }: TokenSelection): boolean {
  return isNarrow || (also.length === 0 && scopes.length === 0 && without.kind === "few");
}

export interface KeyReading {
  /** Of the request. A list that is not waited for any more ends. */
  readonly signal?: AbortSignal | undefined;
  /** Keys of a step. */
  readonly size?: number;
  /** Milliseconds of a monotonic clock. */
  readonly now?: () => number;
}

/** The number of keys of a selection. @throws {Fault} unavailable after {@link MAX_MS}. */
export async function countKeys(tx: Transaction, selection: TokenSelection, reading: KeyReading = {}) {
  const { size = keysAtOnce(selection) } = reading;
  const walk = { selection, order: "newest_first", after: undefined } as const;
  let total = 0;
  for await (const step of keySteps(tx, walk, { ...reading, size })) {
    total += await countStep(tx, selection, step);
  }
  return total;
}

/**
 * The keys of a page, however many are skipped and however few of a tenant's tokens are selected.
 * @throws {Fault} unavailable after {@link MAX_MS}.
 */
export async function listKeys(tx: Transaction, page: KeyPage, reading: KeyReading = {}): Promise<readonly TokenKey[]> {
  const { size = keysAtOnce(page.selection) } = reading;
  if (isDirect(page.selection) && page.offset < size) return tx.query(listTokenKeys, page);
  const found: TokenKey[] = [];
  let { offset } = page;
  for await (const step of keySteps(tx, page, { ...reading, size, first: Math.min(FIRST_COMPARED, size) })) {
    const { size: most, ...range } = step;
    const rest = { ...page, ...range, offset, limit: page.limit - found.length };
    const keys = offset < most ? await tx.query(listTokenKeys, rest) : [];
    found.push(...keys);
    if (found.length === page.limit) break;
    if (keys.length > 0) offset = 0;
    else if (offset > 0) offset -= await countStep(tx, page.selection, step);
  }
  return found;
}

/**
 * A list keeps one of few connections, four of a tenant's at most. After 30 s the transaction itself would be cut off,
 * and begun again.
 */
const MAX_MS = 15_000;

/** Most pages are full after these. */
const FIRST_COMPARED = 1_000;

/** A part of a walk: this many keys of its source, or fewer at the end. Each of them may be selected or not. */
interface KeyStep extends Pick<KeyPage, "order" | "after" | "through"> {
  readonly size: number;
}

interface SteppedReading extends KeyReading {
  readonly size: number;
  /** Keys of the first step, if it is a shorter one. */
  readonly first?: number;
}

/** The walk of a selection in steps of one size, but for the first. */
async function* keySteps(
  tx: Transaction,
  { selection, order, after: start }: Pick<KeyPage, "selection" | "order" | "after">,
  { signal, size, first = size, now = () => performance.now() }: SteppedReading,
): AsyncGenerator<KeyStep, void> {
  const source: TokenSelection = { ...selection, also: [], scopes: [], without: NONE_EXPIRED };
  const begun = now();
  let after = start;
  for (let next = first; ; next = size) {
    if (signal?.aborted) throw unavailable("a list is not waited for any more");
    if (now() - begun > MAX_MS) throw unavailable("a list compares too many tokens");
    const last: KeyPage = { selection: source, order, after, offset: next - 1, limit: 1 };
    const [through] = await tx.query(listTokenKeys, last);
    yield { order, after, through, size: next };
    if (!through) return;
    after = through;
  }
}

function countStep(tx: Transaction, selection: TokenSelection, { size, ...range }: KeyStep): Promise<number> {
  return tx.query(countTokenKeys, { selection, ...range, most: size });
}
