import { MINUTE_MS } from "../base/clock.js";
import type { SealRow } from "../store/audit/audit-seals.js";
import type { LogSnapshot } from "../store/audit/log-snapshot.js";
import type { RawLogRow } from "../store/audit/raw-log.js";
import { RowFeed } from "./row-feed.js";
import { sealedGroupOf } from "./sealed-groups.js";

/** The rows that each seal covers, for seals in the order of their chain. Holds a page for the log and each set-back. */
export class SealedRows {
  readonly #snapshot: LogSnapshot;
  readonly #from: Date;
  readonly #feeds = new Map<number | "main", RowFeed>();

  /** @param from the start of the earliest minute that is asked for. */
  constructor(snapshot: LogSnapshot, from: Date) {
    this.#snapshot = snapshot;
    this.#from = from;
  }

  /** The rows of a minute, in chunks of at most a page. */
  async *of(seal: SealRow): AsyncGenerator<readonly RawLogRow[]> {
    const feed = this.#feedOf(seal);
    // Rows of minutes without a seal.
    await feed.take(seal.window_start, () => {});
    yield* feed.pieces(new Date(seal.window_start.getTime() + MINUTE_MS));
  }

  #feedOf(seal: SealRow): RowFeed {
    const group = sealedGroupOf(seal, this.#snapshot.setBacks);
    const known = this.#feeds.get(group);
    if (known) return known;
    const feed = new RowFeed(this.#snapshot.rows(group, this.#from), () => {});
    this.#feeds.set(group, feed);
    return feed;
  }
}
