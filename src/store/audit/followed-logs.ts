import { defineRows } from "../statements/row-statements.js";
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
}

/** Uses the index of the tenant's rows by time: the filters drop rows of the last minutes only. */
export const listFollowedRows = defineRows<FollowedRows, LogRow>(
  "audit_logs",
  (sql, tenantId, { entityTypes, entityId, after, until, limit }) => sql`
    select ${sql.unsafe(LOG_COLUMNS)} from audit_logs l
    where l.tenant_id = ${tenantId} and (l.created_at, l.id) > (${after.createdAt}, ${after.id}::uuid)
      ${until ? sql`and l.created_at < ${until}` : sql``}
      ${entityId === undefined ? sql`` : sql`and l.entity_id = ${entityId}`}
      ${entityTypes === undefined ? sql`` : sql`and l.entity_type = any(${[...entityTypes]})`}
    order by l.created_at, l.id limit ${limit}`,
);
