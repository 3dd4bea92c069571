import { type Fault, unavailable } from "../base/fault.js";
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
    if (step.isLate) throw tooMany();
    total += await countStep(tx, selection, step);
  }
  return total;
}

/**
 * The keys of a page, however many are skipped and however few of a tenant's tokens are selected.
 * @throws {Fault} unavailable after {@link MAX_MS}.
 */
export async function listKeys(tx: Transaction, page: KeyPage, reading: KeyReading = {}): Promise<readonly TokenKey[]> {
  const { keys, reached } = await walkKeys(tx, page, reading);
  if (reached) throw tooMany();
  return keys;
}

export interface FoundKeys {
  readonly keys: readonly TokenKey[];
  /** Where the walk ended because its time was up: what is newer was compared. Absent if the page is full, or the last. */
  readonly reached?: TokenKey;
}

/** The newest keys, as {@link listKeys} finds them, but after {@link MAX_MS} with those found by then. */
export async function findNewestKeys(
  tx: Transaction,
  { selection, after, limit }: Pick<KeyPage, "selection" | "after" | "limit">,
  reading: KeyReading = {},
): Promise<FoundKeys> {
  const page: KeyPage = { selection, order: "newest_first", after, offset: 0, limit };
  const found = await walkKeys(tx, page, reading);
  if (!found.reached) return found;
  // To the end of the moment: callers read a position in their cursor, and the last token may be one they may not see.
  const through: TokenKey = { created_at: found.reached.created_at, id: "" };
  const rest = { ...page, after: found.reached, through, limit: limit - found.keys.length };
  const keys = [...found.keys, ...(await tx.query(listTokenKeys, rest))];
  return keys.length === limit ? { keys } : { keys, reached: through };
}

/** `reached` is the last key that was compared. */
async function walkKeys(tx: Transaction, page: KeyPage, reading: KeyReading): Promise<FoundKeys> {
  const { size = keysAtOnce(page.selection) } = reading;
  if (isDirect(page.selection) && page.offset < size) return { keys: await tx.query(listTokenKeys, page) };
  const found: TokenKey[] = [];
  let { offset } = page;
  for await (const step of keySteps(tx, page, { ...reading, size, first: Math.min(FIRST_COMPARED, size) })) {
    if (step.isLate) return { keys: found, reached: step.reached };
    const { size: most, isLate: _, ...range } = step;
    const rest = { ...page, ...range, offset, limit: page.limit - found.length };
    const keys = offset < most ? await tx.query(listTokenKeys, rest) : [];
    found.push(...keys);
    if (found.length === page.limit) break;
    if (keys.length > 0) offset = 0;
    else if (offset > 0) offset -= await countStep(tx, page.selection, step);
  }
  return { keys: found };
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
  readonly isLate: false;
}

/** The end of a walk whose time is up, after the key that it has reached. */
interface LateStep {
  readonly reached: TokenKey;
  readonly isLate: true;
}

interface SteppedReading extends KeyReading {
  readonly size: number;
  /** Keys of the first step, if it is a shorter one. */
  readonly first?: number;
}

/** The walk of a selection in steps of one size, but for the first, which is read whatever the time. */
async function* keySteps(
  tx: Transaction,
  { selection, order, after: start }: Pick<KeyPage, "selection" | "order" | "after">,
  { signal, size, first = size, now = () => performance.now() }: SteppedReading,
): AsyncGenerator<KeyStep | LateStep, void> {
  const source: TokenSelection = { ...selection, also: [], scopes: [], without: NONE_EXPIRED };
  const begun = now();
  let after = start;
  for (let next = first; ; next = size) {
    if (signal?.aborted) throw unavailable("a list is not waited for any more");
    const last: KeyPage = { selection: source, order, after, offset: next - 1, limit: 1 };
    const [through] = await tx.query(listTokenKeys, last);
    yield { order, after, through, size: next, isLate: false };
    if (!through) return;
    if (now() - begun > MAX_MS) {
      yield { reached: through, isLate: true };
      return;
    }
    after = through;
  }
}

function tooMany(): Fault {
  return unavailable("a list compares too many tokens");
}

function countStep(tx: Transaction, selection: TokenSelection, { size, ...range }: KeyStep): Promise<number> {
  return tx.query(countTokenKeys, { selection, ...range, most: size });
}
