import type { RawLogRow } from "../store/audit-seals.js";

/** Rows of the log, oldest first, given out up to a moment at a time. Holds one page. */
export class RowFeed {
  readonly #pages: AsyncGenerator<readonly RawLogRow[]>;
  readonly #onPage: (rows: number) => void;
  #page: readonly RawLogRow[] = [];
  #next = 0;
  #isEnded = false;

  /** `onPage` is told of how many rows came with each page. */
  constructor(pages: AsyncGenerator<readonly RawLogRow[]>, onPage: (rows: number) => void) {
    this.#pages = pages;
    this.#onPage = onPage;
  }

  /** Gives the rows whose time is before `until`, or all that are left. */
  async take(until: Date | undefined, each: (row: RawLogRow) => void): Promise<void> {
    for await (const rows of this.pieces(until)) for (const row of rows) each(row);
  }

  /** The same rows in pieces of a page at most. */
  async *pieces(until: Date | undefined): AsyncGenerator<readonly RawLogRow[]> {
    const bound = until ? until.getTime() * 1_000 : Number.POSITIVE_INFINITY;
    for (;;) {
      const from = this.#next;
      while (this.#next < this.#page.length && Number(this.#page[this.#next]?.micros) < bound) this.#next += 1;
      if (this.#next > from) yield this.#page.slice(from, this.#next);
      if (this.#next < this.#page.length || this.#isEnded) return;
      const { value, done } = await this.#pages.next();
      this.#isEnded = done === true;
      this.#page = value ?? [];
      this.#next = 0;
      this.#onPage(this.#page.length);
    }
  }
}
