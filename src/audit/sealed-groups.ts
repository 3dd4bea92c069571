import type { SealRow } from "../store/audit/audit-seals.js";
import type { LogSnapshot } from "../store/audit/log-snapshot.js";
import type { RawLogRow } from "../store/audit/raw-log.js";
import { MinuteCounts } from "./minute-counts.js";
import { RowFeed } from "./row-feed.js";

/**
 * Groups the rows of a log by the seals that cover them. After a set-back a minute may have two seals: the earlier
 * covers the rows set aside then, the later all others. Holds one page of rows for the log and one for each set-back.
 */
export class SealedGroups {
  readonly #snapshot: LogSnapshot;
  readonly #onPage: (rows: number) => void;
  readonly #main: RowFeed;
  readonly #aside = new Map<number, RowFeed>();
  /** Rows set aside by an entry that does not exist. */
  readonly unknown = new MinuteCounts();

  /** @param onPage called with the number of rows read. */
  constructor(snapshot: LogSnapshot, onPage: (rows: number) => void) {
    this.#snapshot = snapshot;
    this.#onPage = onPage;
    this.#main = new RowFeed(snapshot.rows("all"), onPage);
  }

  /** Passes the remaining rows before `until` of a seal's group. */
  async take(seal: SealRow, until: Date, each: (row: RawLogRow) => void): Promise<void> {
    const feed = this.#feedOf(seal);
    if (feed === this.#main) await feed.take(until, (row) => this.#sort(row, each));
    else await feed.take(until, each);
  }

  /** Passes all rows that no seal has covered. */
  async takeRest(each: (row: RawLogRow) => void): Promise<void> {
    await this.#main.take(undefined, (row) => this.#sort(row, each));
    for (const { number } of this.#snapshot.setBacks) await this.#asideOf(number).take(undefined, each);
  }

  /** Rows that were set aside come with the seals of their own group. */
  #sort(row: RawLogRow, each: (row: RawLogRow) => void): void {
    if (row.set_aside === null) each(row);
    else if (!this.#snapshot.setBacks.some(({ number }) => number === row.set_aside)) this.unknown.add(row);
  }

  #feedOf(seal: SealRow): RowFeed {
    const group = sealedGroupOf(seal, this.#snapshot.setBacks);
    return group === "main" ? this.#main : this.#asideOf(group);
  }

  #asideOf(number: number): RowFeed {
    let feed = this.#aside.get(number);
    if (!feed) {
      // The main feed has counted these rows already.
      feed = new RowFeed(this.#snapshot.rows(number), () => this.#onPage(0));
      this.#aside.set(number, feed);
    }
    return feed;
  }
}

/** Which rows of its minute a seal covers: those that a later set-back set aside, or those without a mark. */
export function sealedGroupOf(
  { number, window_start }: Pick<SealRow, "number" | "window_start">,
  setBacks: readonly SealRow[],
): number | "main" {
  return setBacks.find((mark) => mark.number > number && mark.window_start <= window_start)?.number ?? "main";
}
