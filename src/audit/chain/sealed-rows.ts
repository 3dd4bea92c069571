import { MINUTE_MS } from "../../base/clock.js";
import type { SealRow } from "../../store/audit/audit-seals.js";
import type { LogSnapshot } from "../../store/audit/log-snapshot.js";
import type { RawLogRow } from "../../store/audit/raw-log.js";
import { MinuteCounts } from "./minute-counts.js";
import { RowFeed } from "./row-feed.js";

/**
 * The rows that each seal covers, for seals in the order of their chain. After a set-back a minute may have two seals:
 * the earlier covers the rows set aside then, the later all others. Holds one page of rows for the log and one for each
 * set-back.
 */
export class SealedRows {
  readonly #snapshot: LogSnapshot;
  readonly #feeds = new Map<number, RowFeed>();
  readonly #main: RowFeed;
  readonly #from: Date | undefined;
  /** Rows set aside by an entry that does not exist. */
  readonly unknown = new MinuteCounts();

  /**
   * @param onPage called with the number of rows read.
   * @param from the start of the earliest minute that is asked for. Absent: all.
   */
  constructor(snapshot: LogSnapshot, onPage: (rows: number) => void, from?: Date) {
    this.#snapshot = snapshot;
    this.#from = from;
    this.#main = new RowFeed(snapshot.rows("all", from), onPage);
  }

  /** The remaining rows before `until` of a seal's group, in chunks of at most a page. */
  async *before(seal: Pick<SealRow, "number" | "window_start">, until: Date): AsyncGenerator<readonly RawLogRow[]> {
    const group = sealedGroup(seal, this.#snapshot.setBacks);
    yield* group === "main" ? this.#ofMain(until) : this.#asideOf(group).pieces(until);
  }

  /** The rows of a seal's minute. Rows of minutes without a seal are passed over. */
  async *minuteOf(seal: SealRow): AsyncGenerator<readonly RawLogRow[]> {
    for await (const _ of this.before(seal, seal.window_start));
    yield* this.before(seal, new Date(seal.window_start.getTime() + MINUTE_MS));
  }

  /** Passes all rows that no seal has covered. */
  async takeRest(each: (row: RawLogRow) => void): Promise<void> {
    for await (const rows of this.#ofMain(undefined)) for (const row of rows) each(row);
    for (const { number } of this.#snapshot.setBacks) await this.#asideOf(number).take(undefined, each);
  }

  /** Rows that were set aside come with the seals of their own group. */
  async *#ofMain(until: Date | undefined): AsyncGenerator<readonly RawLogRow[]> {
    for await (const rows of this.#main.pieces(until)) {
      const aside = rows.filter(({ set_aside }) => set_aside !== null);
      for (const row of aside) {
        if (!this.#snapshot.setBacks.some(({ number }) => number === row.set_aside)) this.unknown.add(row);
      }
      yield aside.length > 0 ? rows.filter(({ set_aside }) => set_aside === null) : rows;
    }
  }

  #asideOf(number: number): RowFeed {
    const known = this.#feeds.get(number);
    if (known) return known;
    // The main feed has counted these rows already.
    const feed = new RowFeed(this.#snapshot.rows(number, this.#from), () => {});
    this.#feeds.set(number, feed);
    return feed;
  }
}

/** Which rows of its minute a seal covers: those that a later set-back set aside, or those without a mark. */
export function sealedGroup(
  { number, window_start }: Pick<SealRow, "number" | "window_start">,
  setBacks: readonly SealRow[],
): number | "main" {
  return setBacks.find((mark) => mark.number > number && mark.window_start <= window_start)?.number ?? "main";
}
