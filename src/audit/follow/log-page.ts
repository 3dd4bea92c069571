import { invalid } from "../../base/fault.js";
import { isUuidPosition, readCursor, writeCursor } from "../../crypto/cursor.js";
import type { TenantKeys } from "../../crypto/tenant-keys.js";
import type { LogListing, LogRow } from "../../store/audit/log-listing.js";
import type { FoundRows } from "./find-log-rows.js";
import { type LogFilterQuery, nameOfFilter, readLogFilter } from "./log-filter.js";

export interface LogQuery extends LogFilterQuery {
  /** The cursor of the previous page. Overrides the page number. */
  readonly start?: string | undefined;
  readonly page: number;
  readonly size: number;
  /** Adds the rest of the calls that the page has begun. */
  readonly wholeCalls?: boolean | undefined;
}

export interface LogPage {
  readonly rows: readonly LogRow[];
  /** Absent on the last page. A page with it may have fewer rows than its size, if the search has reached its bound. */
  readonly next: string | undefined;
}

/** Lists rows, newest first. */
export type FindRows = (listing: LogListing) => Promise<FoundRows>;

/** @throws {Fault} validation_failed for an invalid filter, or a cursor of another list. */
export function prepareLogPage(keys: TenantKeys, query: LogQuery, now: Date): (find: FindRows) => Promise<LogPage> {
  const filter = nameOfFilter(query);
  if (query.wholeCalls && query.start === undefined && query.page > 1) {
    throw invalid("page", "must not be given with whole_calls, whose pages have no fixed size; use start");
  }
  const listing = {
    ...readLogFilter(query, now),
    after: query.start === undefined ? undefined : readStart(keys, filter, query.start),
    offset: query.start === undefined ? (query.page - 1) * query.size : 0,
    // One row more than the page shows whether another page follows.
    limit: query.size + 1,
  };
  return async (find) => {
    const found = await find(listing);
    const page = found.rows.slice(0, query.size);
    const isCut = found.rows.length > query.size;
    const rest = isCut && query.wholeCalls ? await restOfCalls(find, listing, page) : [];
    const rows = [...page, ...rest];
    const last = rows.at(-1);
    const continued = isCut && last ? { createdAt: last.created_at, id: last.id } : found.endedAt;
    return { rows, next: continued && writeCursor(keys.proof, filter, continued) };
  };
}

/** Rows that a page may have beyond its size. */
const MAX_REST = 200;
/** Calls with a row that is this much newer than the end of a page do not continue behind it. */
const CALL_MS = 5_000;

/**
 * The rows behind a page up to the first one that belongs to no call of its end. Rows of one transaction have the same
 * time, and those of calls that shared it lie among each other.
 */
async function restOfCalls(find: FindRows, listing: LogListing, page: readonly LogRow[]): Promise<readonly LogRow[]> {
  const last = page.at(-1);
  if (!last) return [];
  const time = last.created_at.getTime();
  const calls = new Set(page.filter((row) => row.created_at.getTime() - time < CALL_MS).map((row) => row.trace_id));
  calls.delete(null);
  const after = { createdAt: last.created_at, id: last.id };
  const { rows } = await find({ ...listing, after, offset: 0, limit: MAX_REST });
  const end = rows.findIndex((row) => row.created_at.getTime() !== time && !calls.has(row.trace_id));
  return end < 0 ? rows : rows.slice(0, end);
}

function readStart(keys: TenantKeys, filter: readonly string[], text: string) {
  const position = readCursor(keys.proof, filter, text);
  if (!position || !isUuidPosition(position)) {
    throw invalid("start", "must be a cursor of the page before, from a list with the same filter");
  }
  return position;
}
