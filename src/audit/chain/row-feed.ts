import type { RawLogRow } from "../../store/audit/raw-log.js";

/** Returns rows of the log, oldest first, up to a given time per call. Holds one page. */
export class RowFeed {
  readonly #pages: AsyncGenerator<readonly RawLogRow[]>;
  readonly #onPage: (rows: number) => void;
  #page: readonly RawLogRow[] = [];
  #next = 0;
  #isEnded = false;

  /** @param onPage called with the number of rows of each page. */
  constructor(pages: AsyncGenerator<readonly RawLogRow[]>, onPage: (rows: number) => void) {
    this.#pages = pages;
    this.#onPage = onPage;
  }

  /** Passes the rows before `until`, or all remaining rows. */
  async take(until: Date | undefined, each: (row: RawLogRow) => void): Promise<void> {
    for await (const rows of this.pieces(until)) for (const row of rows) each(row);
  }

  /** The same rows in chunks of at most a page. */
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
