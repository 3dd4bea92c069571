import { invalid } from "../../base/fault.js";
import { isUuidPosition, readCursor, writeCursor } from "../../crypto/cursor.js";
import type { TenantKeys } from "../../crypto/tenant-keys.js";
import type { LogRow } from "../../store/audit/log-listing.js";
import type { Transaction } from "../../store/transactions/transaction.js";
import { findLogRows } from "./find-log-rows.js";
import { type LogFilterQuery, nameOfFilter, readLogFilter } from "./log-filter.js";

/** A caller's filter and page of the log, unparsed. */
export interface LogQuery extends LogFilterQuery {
  /** The cursor of the previous page. Overrides the page number. */
  readonly start?: string | undefined;
  readonly page: number;
  readonly size: number;
}

export interface LogPage {
  readonly rows: readonly LogRow[];
  /** Absent on the last page. A page with it may have fewer rows than its size, if the search has reached its bound. */
  readonly next: string | undefined;
}

/**
 * Prepares a page of the log, newest first.
 * @throws {Fault} validation_failed for an invalid filter, or a cursor of another list.
 */
export function prepareLogPage(keys: TenantKeys, query: LogQuery, now: Date): (tx: Transaction) => Promise<LogPage> {
  const filter = nameOfFilter(query);
  const listing = {
    ...readLogFilter(query, now),
    after: query.start === undefined ? undefined : readStart(keys, filter, query.start),
    offset: query.start === undefined ? (query.page - 1) * query.size : 0,
    // One row more than the page shows whether another page follows.
    limit: query.size + 1,
  };
  return async (tx) => {
    const found = await findLogRows(tx, listing);
    const rows = found.rows.slice(0, query.size);
    const last = rows.at(-1);
    const hasMore = found.rows.length > query.size && last !== undefined;
    const continued = hasMore ? { createdAt: last.created_at, id: last.id } : found.endedAt;
    return { rows, next: continued && writeCursor(keys.proof, filter, continued) };
  };
}

function readStart(keys: TenantKeys, filter: readonly string[], text: string) {
  const position = readCursor(keys.proof, filter, text);
  if (!position || !isUuidPosition(position)) {
    throw invalid("start", "must be a cursor of the page before, from a list with the same filter");
  }
  return position;
}
