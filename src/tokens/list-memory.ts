import { LRUCache } from "lru-cache";
import type { TokenKey } from "../store/token-keys.js";

/**
 * A total above this is counted anew every 30 seconds only: of one walk, and of keys that are compared with others, which
 * takes ten times as long.
 */
export const MAX_FRESH_COUNT = 100_000;
export const MAX_FRESH_COMPARED = 10_000;
const COUNT_MS = 30_000;
const PAGE_END_MS = 60_000;

/**
 * What makes paging cheap, per process: where the pages that were just served end, so that the next one starts there
 * and skips nothing, and how many tokens large selections have.
 */
export class ListMemory {
  readonly #ends = new LRUCache<string, TokenKey>({ max: 20_000, ttl: PAGE_END_MS });
  readonly #totals = new LRUCache<string, number>({ max: 5_000, ttl: COUNT_MS });

  endOfPage(list: string, size: number, page: number): TokenKey | undefined {
    return this.#ends.get(`${list}\n${size}\n${page}`);
  }

  rememberEnd(list: string, size: number, page: number, end: TokenKey): void {
    this.#ends.set(`${list}\n${size}\n${page}`, end);
  }

  largeTotal(list: string): number | undefined {
    return this.#totals.get(list);
  }

  rememberTotal(list: string, total: number): void {
    this.#totals.set(list, total);
  }
}
