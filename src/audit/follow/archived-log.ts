import { Fault, invalid } from "../../base/fault.js";
import type { ChainHead } from "../../crypto/log-seal.js";
import { readChainHead } from "../../store/audit/audit-seals.js";
import { readSetBacksAfter } from "../../store/audit/audit-sinks.js";
import { BEFORE_ROWS, type LogListing } from "../../store/audit/log-listing.js";
import { monthStart } from "../../store/audit/log-partitions.js";
import type { Transaction } from "../../store/transactions/transaction.js";
import { ArchiveFailure } from "../archive/log-archive.js";
import { NewestRows } from "../archive/matching-rows.js";
import {
  type ArchivedRange,
  type ArchivedTime,
  archivedTime,
  type MonthParts,
  readMonth,
} from "../archive/read-month.js";
import { verifiedHead } from "../chain/chain.js";
import { monthName } from "../chain/log-months.js";
import { type FoundRows, findLogRows } from "./find-log-rows.js";
import type { FindRows, LogPage } from "./log-page.js";

/** Rows of the archive that one request compares at most, to the end of a month. */
const MAX_ROWS = 1_000_000;
/** Numbered pages hold all rows before them. */
const MAX_NUMBERED = 10_000;
/** Requests of a process that read the archive at once: each keeps the main thread busy. */
const MAX_READERS = 4;
let readers = 0;

type ReadPage = (find: FindRows) => Promise<LogPage>;

/** The rows of a list that the database has, and which months of the archive continue it. */
interface StoredRows extends FoundRows {
  /** Absent: the list has no rows of the archive. */
  readonly archived: ArchivedRange | undefined;
}

/** A tenant's log in the database and the archive, as one list. */
export class ArchivedLog {
  readonly #parts: MonthParts;

  constructor(parts: MonthParts) {
    this.#parts = parts;
  }

  /**
   * Reads a page in a transaction.
   * @returns how to read it after the transaction, if it has rows of the archive.
   */
  async pageIn(tx: Transaction, read: ReadPage): Promise<LogPage | (() => Promise<LogPage>)> {
    let isStored = true;
    const page = await read(async (listing) => {
      const found = await this.#findStored(tx, listing);
      if (found.archived) isStored = false;
      return found;
    });
    return isStored ? page : () => this.#page(read);
  }

  /** @throws {Fault} unavailable if the archive cannot be read: a page is complete, or is not there. */
  async #page(read: ReadPage): Promise<LogPage> {
    if (readers >= MAX_READERS) {
      throw new Fault("unavailable", "Too many requests read the archive of the log at once.", { retryAfter: 5 });
    }
    readers += 1;
    try {
      return await read((listing) => this.#find(listing));
    } finally {
      readers -= 1;
    }
  }

  async #find({ offset, limit, ...listing }: LogListing): Promise<FoundRows> {
    const wanted = offset + limit;
    if (wanted > MAX_NUMBERED) {
      throw invalid("page", `must end within ${MAX_NUMBERED} rows where the log has archived months; use start`);
    }
    const { database, keys } = this.#parts;
    const all = { ...listing, offset: 0, limit: wanted };
    const stored = await database.of(keys.tenantId).bulk((tx) => this.#findStored(tx, all));
    if (!stored.archived) return { rows: stored.rows.slice(offset), endedAt: stored.endedAt };
    const archived = await this.#findArchived({ ...all, limit: wanted - stored.rows.length }, stored.archived);
    return { rows: [...stored.rows, ...archived.rows].slice(offset), endedAt: archived.endedAt };
  }

  /** Reads the head after the rows: what is not in the database by then is in the archive. */
  async #findStored(tx: Transaction, listing: LogListing): Promise<StoredRows> {
    const found = await findLogRows(tx, listing);
    const stored = await tx.query(readChainHead, "head");
    const head = stored === null ? undefined : verifiedHead(this.#parts.keys, stored);
    if (!head) {
      if (found.endedAt || found.rows.length === listing.limit) return { ...found, archived: undefined };
      throw new Fault("unavailable", "It is not known which months of the log are archived: its record was changed.", {
        retryAfter: 60,
      });
    }
    const range = archivedRange(head, listing);
    if (!range) return { ...found, archived: undefined };
    // Rows are in the archive before their table is removed.
    const rows = found.rows.filter((row) => row.created_at >= range.until);
    const endedAt = found.endedAt && found.endedAt.createdAt >= range.until ? found.endedAt : undefined;
    if (endedAt || rows.length === listing.limit) return { rows, endedAt, archived: undefined };
    return { rows, endedAt, archived: { ...range, setBacks: await tx.query(readSetBacksAfter, 0) } };
  }

  async #findArchived(listing: LogListing, range: ArchivedRange): Promise<FoundRows> {
    const newest = new NewestRows(this.#parts.keys.tenantId, listing);
    const from = listing.from && listing.from > range.from ? listing.from : range.from;
    const latest = [range.until, listing.until, listing.after && new Date(listing.after.createdAt.getTime() + 1)];
    const until = new Date(Math.min(...latest.flatMap((time) => time?.getTime() ?? [])));
    let compared = 0;
    for (
      let month = monthStart(new Date(until.getTime() - 1));
      month >= monthStart(from);
      month = monthStart(month, -1)
    ) {
      compared += await this.#readMonth(month, range, (line) => newest.take(line, { from, until }));
      const isEnd = newest.isFull || (compared >= MAX_ROWS && month > from);
      if (isEnd)
        return { rows: newest.rows, endedAt: newest.isFull ? undefined : { createdAt: month, id: BEFORE_ROWS } };
    }
    return { rows: newest.rows, endedAt: undefined };
  }

  async #readMonth(month: Date, range: ArchivedRange, onRow: (line: Buffer) => void): Promise<number> {
    try {
      return await readMonth(this.#parts, range, month, onRow);
    } catch (cause) {
      if (!(cause instanceof ArchiveFailure)) throw cause;
      const what = cause.isDown ? "cannot be read now" : "has another file in its place";
      const detail = `Rows of ${monthName(month)} are in the archive of the log, which ${what}.`;
      throw new Fault("unavailable", `${detail} Rows since ${range.until.toISOString()} can be read with start_date.`, {
        retryAfter: 60,
        cause,
      });
    }
  }
}

/** The archived months that a list can have rows of; undefined if it has none. */
function archivedRange(head: ChainHead, { from, until, after }: LogListing): ArchivedTime | undefined {
  const archived = archivedTime(head);
  if (!archived) return undefined;
  if (from && from >= archived.until) return undefined;
  if (until && until <= archived.from) return undefined;
  if (after && after.createdAt < archived.from) return undefined;
  return archived;
}
