import { defineStatement } from "../statements/statement.js";
import type { LogRow } from "./log-listing.js";

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
export const listFollowedRows = defineStatement<FollowedRows, readonly LogRow[], LogRow>({
  table: "audit_logs",
  kind: "read",
  queries: (sql, tenantId, wanted) =>
    wanted.map(
      ({ entityTypes, entityId, after, until, limit }) => sql`
        select l.id, l.created_at, l.actor_id, l.actor_type, l.entity_type, l.entity_id, l.operation, l.message, l.key_id,
          host(l.source_ip) as source_ip, l.client, l.trace_id, l.outcome, l.code, l.transform, l.destination_host,
          l.via_type, l.via_id, l.reason, l.changes
        from audit_logs l
        where l.tenant_id = ${tenantId} and (l.created_at, l.id) > (${after.createdAt}, ${after.id}::uuid)
          ${until ? sql`and l.created_at < ${until}` : sql``}
          ${entityId === undefined ? sql`` : sql`and l.entity_id = ${entityId}`}
          ${entityTypes === undefined ? sql`` : sql`and l.entity_type = any(${[...entityTypes]})`}
        order by l.created_at, l.id limit ${limit}`,
    ),
  outputs: (rows) => rows,
});
