import { LRUCache } from "lru-cache";
import type { TokenKey } from "../store/token-selection.js";

/**
 * A total above this is counted anew every 30 seconds only: of one walk, and of keys that are compared with others, which
 * takes ten times as long.
 */
export const MAX_FRESH_COUNT = 100_000;
export const MAX_FRESH_COMPARED = 10_000;
const COUNT_MS = 30_000;
/** From then on one request counts anew, while the others go on with what is known. */
const RECOUNT_MS = 15_000;
const PAGE_END_MS = 60_000;

/**
 * What makes paging cheap, per process: where the pages that were just served end, so that the next one starts there
 * and skips nothing, and how many tokens large selections have.
 */
export class ListMemory {
  readonly #now: () => number;
  readonly #ends = new LRUCache<string, TokenKey>({ max: 20_000, ttl: PAGE_END_MS });
  readonly #totals = new LRUCache<string, CountedTotal>({ max: 5_000 });

  /** @param now milliseconds of a clock that never steps back. */
  constructor(now = () => performance.now()) {
    this.#now = now;
  }

  endOfPage(list: string, size: number, page: number): TokenKey | undefined {
    return this.#ends.get(`${list}\n${size}\n${page}`);
  }

  rememberEnd(list: string, size: number, page: number, end: TokenKey): void {
    this.#ends.set(`${list}\n${size}\n${page}`, end);
  }

  /** Undefined where this request is to count, and to remember what it finds. */
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
}

interface CountedTotal {
  readonly total: number;
  readonly at: number;
  /** A request is at it. */
  isRecounted: boolean;
}
