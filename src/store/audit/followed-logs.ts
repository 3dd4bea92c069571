import { defineForEach, defineRows } from "../statements/row-statements.js";
import { LOG_COLUMNS, type LogRow } from "./log-listing.js";

/** Log rows after a position, oldest first. */
export interface FollowedRows {
  /** Rows with any of these types. Absent: all types. */
  readonly entityTypes: readonly string[] | undefined;
  readonly entityId: string | undefined;
  readonly after: { readonly createdAt: Date; readonly id: string };
  /** created_at less than this. */
  readonly until: Date | undefined;
  readonly limit: number;
  /** Without rows that were set aside when the log's time was set back. */
  readonly isPresent?: boolean;
}

/**
 * Uses the index of the tenant's rows by time. The filters may drop any number of rows before the first that matches:
 * {@link endOfFollowedRange} says how far to look.
 */
export const listFollowedRows = defineRows<FollowedRows, LogRow>(
  "audit_logs",
  (sql, tenantId, { entityTypes, entityId, after, until, limit, isPresent }) => sql`
    select ${sql.unsafe(LOG_COLUMNS)} from audit_logs l
    where l.tenant_id = ${tenantId} and (l.created_at, l.id) > (${after.createdAt}, ${after.id}::uuid)
      ${until ? sql`and l.created_at < ${until}` : sql``}
      ${isPresent ? sql`and l.set_aside is null` : sql``}
      ${entityId === undefined ? sql`` : sql`and l.entity_id = ${entityId}`}
      ${entityTypes === undefined ? sql`` : sql`and l.entity_type = any(${[...entityTypes]})`}
    order by l.created_at, l.id limit ${limit}`,
);

export interface FollowedRange {
  readonly from: Date;
  /** created_at less than this. */
  readonly until: Date;
  readonly rows: number;
}

/** The time after about this many rows, oldest first, which is later than `from`. Null: fewer are left. It reads an index alone. */
export const endOfFollowedRange = defineForEach<FollowedRange, Date | null, { readonly end: Date }>(
  "read",
  "audit_logs",
  (sql, tenantId, { from, until, rows }) => sql`
    select created_at as "end" from audit_logs
    where tenant_id = ${tenantId} and created_at > ${from} and created_at < ${until}
    order by created_at limit 1 offset ${rows - 1}`,
  ([row]) => row?.end ?? null,
);
