import { invalid } from "../base/fault.js";
import { parseIsoTime } from "../base/iso-time.js";
import { isUuidPosition, readCursor, writeCursor } from "../crypto/cursor.js";
import type { TenantKeys } from "../crypto/tenant-keys.js";
import { type LogRow, listLogRows } from "../store/audit-logs.js";
import type { Transaction } from "../store/transaction.js";
import { entityTypesMatching } from "./log-entry.js";

/** A caller's filter and page of the log, unparsed. */
export interface LogQuery {
  readonly entityType: string | undefined;
  readonly entityId: string | undefined;
  readonly startDate: string | undefined;
  readonly endDate: string | undefined;
  /** The cursor of the previous page. Overrides the page number. */
  readonly start: string | undefined;
  readonly page: number;
  readonly size: number;
}

export interface LogPage {
  readonly rows: readonly LogRow[];
  /** Absent on the last page. */
  readonly next: string | undefined;
}

/**
 * Prepares a page of the log, newest first.
 * @throws {Fault} validation_failed for an invalid date, or a cursor of another list.
 */
export function prepareLogPage(keys: TenantKeys, query: LogQuery): (tx: Transaction) => Promise<LogPage> {
  const filter = ["logs", query.entityType ?? "", query.entityId ?? "", query.startDate ?? "", query.endDate ?? ""];
  const listing = {
    entityTypes: query.entityType === undefined ? undefined : entityTypesMatching(query.entityType),
    entityId: query.entityId,
    from: readTime("start_date", query.startDate),
    until: readTime("end_date", query.endDate),
    after: query.start === undefined ? undefined : readStart(keys, filter, query.start),
    offset: query.start === undefined ? (query.page - 1) * query.size : 0,
    // One row more than the page shows whether another page follows.
    limit: query.size + 1,
  };
  return async (tx) => {
    const found = await tx.query(listLogRows, listing);
    const rows = found.slice(0, query.size);
    const last = rows.at(-1);
    const hasMore = found.length > query.size && last !== undefined;
    const next = hasMore ? writeCursor(keys.proof, filter, { createdAt: last.created_at, id: last.id }) : undefined;
    return { rows, next };
  };
}

function readTime(field: string, text: string | undefined): Date | undefined {
  if (text === undefined) return undefined;
  const time = parseIsoTime(text);
  if (!time) throw invalid(field, "must be an ISO 8601 date or date-time");
  return time;
}

function readStart(keys: TenantKeys, filter: readonly string[], text: string) {
  const position = readCursor(keys.proof, filter, text);
  if (!position || !isUuidPosition(position)) {
    throw invalid("start", "must be a cursor of the page before, from a list with the same filter");
  }
  return position;
}
