import { LRUCache } from "lru-cache";
import { lruEntries } from "../base/lru-entries.js";
import type { TokenKey } from "../store/tokens/token-selection.js";

const COUNT_MS = 30_000;
/** After this time, one request recounts while the others use the remembered total. */
const RECOUNT_MS = 15_000;
const PAGE_END_MS = 60_000;

/**
 * Makes paging cheap, per process. Remembers where recently served pages end, so the next page starts there and skips
 * nothing, and the totals of large selections.
 */
export class ListMemory {
  readonly #now: () => number;
  readonly #ends = new LRUCache<string, TokenKey>({ ...lruEntries(20_000), ttl: PAGE_END_MS });
  readonly #totals = new LRUCache<string, CountedTotal>({ max: 5_000 });

  /** @param now milliseconds of a monotonic clock. */
  constructor(now = () => performance.now()) {
    this.#now = now;
  }

  endOfPage(list: string, size: number, page: number): TokenKey | undefined {
    return this.#ends.get(`${list}\n${size}\n${page}`);
  }

  rememberEnd(list: string, size: number, page: number, end: TokenKey): void {
    this.#ends.set(`${list}\n${size}\n${page}`, end);
  }

  /** Undefined if this request must count, and then remember the total. */
  largeTotal(list: string): number | undefined {
    const counted = this.#totals.get(list);
    const age = counted ? this.#now() - counted.at : Number.POSITIVE_INFINITY;
    if (!counted || age >= COUNT_MS) return undefined;
    if (age < RECOUNT_MS || counted.isRecounted) return counted.total;
    counted.isRecounted = true;
    return undefined;
  }

  rememberTotal(list: string, total: number): void {
    this.#totals.set(list, { total, at: this.#now(), isRecounted: false });
  }

  /** After a count that is not large any more: other requests would go on to show the former one. */
  forgetTotal(list: string): void {
    this.#totals.delete(list);
  }
}

interface CountedTotal {
  readonly total: number;
  readonly at: number;
  /** A request is recounting it. */
  isRecounted: boolean;
}
