import { DAY_MS, MINUTE_MS } from "../../base/clock.js";
import { Fault } from "../../base/fault.js";
import type { ListPosition } from "../../crypto/cursor.js";
import { readSetBacksAfter } from "../../store/audit/audit-sinks.js";
import { endOfFollowedRange, type FollowedRows, listFollowedRows } from "../../store/audit/followed-logs.js";
import { type LogClosing, readLogClosing } from "../../store/audit/log-clock.js";
import type { LogRow } from "../../store/audit/log-listing.js";
import type { Transaction } from "../../store/transactions/transaction.js";
import { SEARCH_BOUNDS, type SearchBounds } from "./find-log-rows.js";

const BATCH = 100;
const PAGE = 500;
/** A row usually commits within this time after its own. Rows that take longer come when their minute is closed. */
const USUAL_COMMIT_MS = 5_000;
/**
 * Ids of rows that were sent and are not final: about 80 bytes each. With more, rows are sent when their minute is closed.
 */
const MAX_REMEMBERED = 50_000;
/** Before all ids. */
const NO_ID = "00000000-0000-0000-0000-000000000000";

export interface FollowFilter {
  readonly entityTypes: readonly string[] | undefined;
  readonly entityId: string | undefined;
}

/** The position to begin at to see the rows of later transactions. @throws {Fault} not_found for a deleted tenant. */
export async function endOfLog(tx: Transaction): Promise<Date> {
  const closing = await tx.query(readLogClosing, "closing");
  if (!closing) throw new Fault("not_found", "There is no such tenant.");
  return closing.now;
}

export interface PollResult {
  readonly rows: readonly LogRow[];
  /** Whether these are all rows that are there now. */
  readonly isAll: boolean;
  readonly found: Found;
}

interface Found {
  readonly final: ListPosition;
  /** Rows that are final now, and were sent before. */
  readonly passed: readonly string[];
  /** Rows that are not final. */
  readonly fresh: readonly LogRow[];
  /** Where the log goes on after clocks were set back, which is before rows that were sent. */
  readonly setBackTo: Date | undefined;
}

interface FreshRows {
  /** The rows after this. */
  readonly final: ListPosition;
  readonly limit: number;
  readonly isFull: boolean;
  readonly isPresent: boolean;
}

export interface PollOptions {
  /** Reads all rows that are not final, not only those of the last seconds. */
  readonly isFull?: boolean;
}

export interface FollowerLimits {
  /** Rows of one poll. */
  readonly batch?: number;
  /** How many rows one poll compares with the filter. */
  readonly bounds?: SearchBounds;
}

/**
 * Finds each committed log row once. A row commits later than its time, so the newest row is nothing to continue from:
 * the last seconds are read again, without the rows that were sent, and each minute once more after it is closed, when
 * no row can be added to it.
 */
export class LogFollower {
  readonly #filter: FollowFilter;
  readonly #batch: number;
  readonly #bounds: SearchBounds;
  /** All rows up to here were sent, and no row can appear before it. */
  #final: ListPosition;
  /** Rows after `#final` that were sent. */
  readonly #sent = new Set<string>();
  #newest: Date;
  /** Rows with times to come were sent before the clocks were set back. */
  #skipsSetAside = false;

  /** @param start a position that {@link position} returned, or the time to begin at. */
  constructor(
    filter: FollowFilter,
    start: ListPosition | Date,
    { batch = BATCH, bounds = SEARCH_BOUNDS }: FollowerLimits = {},
  ) {
    this.#filter = filter;
    this.#batch = batch;
    this.#bounds = bounds;
    this.#final = start instanceof Date ? { createdAt: start, id: NO_ID } : start;
    this.#newest = this.#final.createdAt;
  }

  /** Where another follower continues without missing a row. */
  get position(): ListPosition {
    return this.#final;
  }

  /** Whether an accepted poll had the row. */
  hasSent(row: LogRow): boolean {
    return this.#sent.has(row.id) || comparePositions(rowPosition(row), this.#final) <= 0;
  }

  /** Finds the next rows. They come again until {@link accept}, because a transaction may run twice. */
  async poll(tx: Transaction, { isFull = false }: PollOptions = {}): Promise<PollResult> {
    const closing = await tx.query(readLogClosing, "closing");
    const closedUntil = closing?.closed_until ?? undefined;
    const setBackTo = closing && this.#final.createdAt > closing.now ? await whereSetBack(tx, closing) : undefined;
    if (setBackTo === "waits") {
      return { rows: [], isAll: true, found: { final: this.#final, passed: [], fresh: [], setBackTo: undefined } };
    }
    const { rows: late, isEnd, ...closed } = await this.#finish(tx, { from: setBackTo, until: closedUntil });
    const remembered = this.#sent.size - closed.passed.length;
    if (!isEnd || remembered > MAX_REMEMBERED) {
      return { rows: late, isAll: false, found: { ...closed, fresh: [], setBackTo } };
    }
    const limit = this.#batch - late.length;
    const fresh = await this.#fresh(tx, {
      final: closed.final,
      limit,
      isFull: isFull || setBackTo !== undefined,
      isPresent: this.#skipsSetAside || setBackTo !== undefined,
    });
    return { rows: [...late, ...fresh], isAll: fresh.length < limit, found: { ...closed, fresh, setBackTo } };
  }

  accept({ found: { final, passed, fresh, setBackTo } }: PollResult): void {
    this.#final = final;
    if (setBackTo) {
      this.#newest = setBackTo;
      this.#skipsSetAside = true;
    }
    for (const id of passed) this.#sent.delete(id);
    for (const row of fresh) {
      this.#sent.add(row.id);
      if (row.created_at > this.#newest) this.#newest = row.created_at;
    }
  }

  /**
   * Reads closed minutes to their end, or to the bound of a search, and returns the rows that were not sent: a filter may
   * match none of the millions of rows of a follower that was away for days.
   */
  async #finish(
    tx: Transaction,
    { from, until }: { readonly from: Date | undefined; readonly until: Date | undefined },
  ) {
    const [rows, passed]: [LogRow[], string[]] = [[], []];
    const isPresent = this.#skipsSetAside || from !== undefined;
    let final = from ? { createdAt: from, id: NO_ID } : this.#final;
    for (let range = 0; until !== undefined && until > final.createdAt; range += 1) {
      if (range === this.#bounds.ranges) return { rows, passed, final, isEnd: false };
      const end = await this.#endOfRange(tx, final, until);
      let page: readonly LogRow[] = [];
      do {
        page = await this.#page(tx, { after: final, until: end, isPresent });
        for (const row of page) {
          if (rows.length >= this.#batch) return { rows, passed, final, isEnd: false };
          if (this.#sent.has(row.id)) passed.push(row.id);
          else rows.push(row);
          final = rowPosition(row);
        }
      } while (page.length === PAGE);
      if (end > final.createdAt) final = { createdAt: end, id: NO_ID };
    }
    return { rows, passed, final, isEnd: rows.length < this.#batch };
  }

  /** Where the next rows end that one statement compares. Without a filter, its page bounds it. */
  async #endOfRange(tx: Transaction, after: ListPosition, until: Date): Promise<Date> {
    const { entityTypes, entityId } = this.#filter;
    if (entityTypes === undefined && entityId === undefined) return until;
    const end = await tx.query(endOfFollowedRange, { from: after.createdAt, until, rows: this.#bounds.rows });
    return end ?? until;
  }

  async #fresh(tx: Transaction, { final, limit, isFull, isPresent }: FreshRows): Promise<readonly LogRow[]> {
    const found: LogRow[] = [];
    const recent = new Date(this.#newest.getTime() - USUAL_COMMIT_MS);
    let after = recent > final.createdAt && !isFull ? { createdAt: recent, id: NO_ID } : final;
    while (found.length < limit) {
      const rows = await this.#page(tx, { after, until: undefined, isPresent });
      const unsent = rows.filter(({ id }) => !this.#sent.has(id));
      found.push(...unsent.slice(0, limit - found.length));
      const last = rows.at(-1);
      if (!last || rows.length < PAGE) break;
      after = rowPosition(last);
    }
    return found;
  }

  #page(tx: Transaction, range: Pick<FollowedRows, "after" | "until" | "isPresent">): Promise<readonly LogRow[]> {
    return tx.query(listFollowedRows, { ...this.#filter, ...range, limit: PAGE });
  }
}

/**
 * Where a log goes on that has a position to come: the clocks of the servers and of the database were fast, and were
 * corrected. `waits`: the log is not set back yet, and has no rows of the present.
 */
async function whereSetBack(tx: Transaction, { now, closed_until }: LogClosing): Promise<Date | "waits"> {
  if (closed_until && closed_until > now) return "waits";
  const last = (await tx.query(readSetBacksAfter, 0)).at(-1);
  const isLatest = last && last.window_start.getTime() > now.getTime() - DAY_MS;
  return isLatest ? last.window_start : new Date(now.getTime() - MINUTE_MS);
}

function rowPosition({ created_at: createdAt, id }: LogRow): ListPosition {
  return { createdAt, id };
}

/** Negative if the first comes before the second. */
export function comparePositions(one: ListPosition, other: ListPosition): number {
  const between = one.createdAt.getTime() - other.createdAt.getTime();
  if (between !== 0) return between;
  return one.id < other.id ? -1 : one.id > other.id ? 1 : 0;
}
