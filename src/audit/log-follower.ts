import { Fault } from "../base/fault.js";
import type { Position } from "../crypto/cursor.js";
import { listFollowedRows } from "../store/followed-logs.js";
import { readLogClosing } from "../store/log-clock.js";
import type { LogRow } from "../store/log-listing.js";
import type { Transaction } from "../store/transaction.js";

/** Rows of one look at most. */
const BATCH = 100;
/** Rows of one query at most. */
const PAGE = 500;
/** A row usually commits within this time after its own. Rows that take longer come when their minute is closed. */
const USUAL_COMMIT_MS = 5_000;
/**
 * Ids of rows that were sent and are not final: about 80 bytes each. With more, rows are sent when their minute is closed.
 */
const MOST_REMEMBERED = 50_000;
/** Before all ids. */
const NO_ID = "00000000-0000-0000-0000-000000000000";

export interface FollowFilter {
  readonly entityTypes: readonly string[] | undefined;
  readonly entityId: string | undefined;
}

/** The place to begin at to see the rows of later transactions. @throws {Fault} not_found for a deleted tenant. */
export async function endOfLog(tx: Transaction): Promise<Date> {
  const closing = await tx.query(readLogClosing, "closing");
  if (!closing) throw new Fault("not_found", "There is no such tenant.");
  return closing.now;
}

/**
 * Finds each committed log row once. A row commits later than its time, so the newest row is no place to continue from:
 * the last seconds are read again, without the rows that were sent, and each minute once more after it is closed, when
 * no row can be added to it.
 */
export class LogFollower {
  readonly #filter: FollowFilter;
  /** All rows up to here were sent, and no row can appear before it. */
  #final: Position;
  /** Rows after `#final` that were sent. */
  readonly #sent = new Set<string>();
  /** The time of the newest row that was sent. */
  #newest: Date;

  /** @param start a position that {@link position} returned, or the time to begin at. */
  constructor(filter: FollowFilter, start: Position | Date) {
    this.#filter = filter;
    this.#final = start instanceof Date ? { createdAt: start, id: NO_ID } : start;
    this.#newest = this.#final.createdAt;
  }

  /** Where another follower continues without missing a row. */
  get position(): Position {
    return this.#final;
  }

  /** The next rows, at most 100. Fewer than that are all that are there now. */
  async next(tx: Transaction): Promise<readonly LogRow[]> {
    const closing = await tx.query(readLogClosing, "closing");
    const closedUntil = closing?.closed_until ?? undefined;
    const late = closedUntil && closedUntil > this.#final.createdAt ? await this.#finish(tx, closedUntil) : [];
    if (late.length >= BATCH || this.#sent.size > MOST_REMEMBERED) return late;
    return [...late, ...(await this.#fresh(tx, BATCH - late.length))];
  }

  /** Reads closed minutes to their end, and returns the rows that were not sent. */
  async #finish(tx: Transaction, until: Date): Promise<readonly LogRow[]> {
    const found: LogRow[] = [];
    for (;;) {
      const rows = await this.#page(tx, this.#final, until);
      for (const row of rows) {
        if (found.length >= BATCH) return found;
        if (!this.#sent.delete(row.id)) found.push(row);
        this.#final = { createdAt: row.created_at, id: row.id };
      }
      if (rows.length < PAGE) break;
    }
    if (until > this.#final.createdAt) this.#final = { createdAt: until, id: NO_ID };
    return found;
  }

  async #fresh(tx: Transaction, limit: number): Promise<readonly LogRow[]> {
    const found: LogRow[] = [];
    const recent = new Date(this.#newest.getTime() - USUAL_COMMIT_MS);
    let after = recent > this.#final.createdAt ? { createdAt: recent, id: NO_ID } : this.#final;
    while (found.length < limit) {
      const rows = await this.#page(tx, after, undefined);
      for (const row of rows) {
        if (found.length >= limit) break;
        if (this.#sent.has(row.id)) continue;
        this.#sent.add(row.id);
        if (row.created_at > this.#newest) this.#newest = row.created_at;
        found.push(row);
      }
      const last = rows.at(-1);
      if (!last || rows.length < PAGE) break;
      after = { createdAt: last.created_at, id: last.id };
    }
    return found;
  }

  #page(tx: Transaction, after: Position, until: Date | undefined): Promise<readonly LogRow[]> {
    return tx.query(listFollowedRows, { ...this.#filter, after, until, limit: PAGE });
  }
}
