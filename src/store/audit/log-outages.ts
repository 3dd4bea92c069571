import { boundQuery } from "../statements/bound-statement.js";
import { text, time } from "../statements/parameter.js";
import { defineRows } from "../statements/row-statements.js";
import { writeRow } from "../statements/single-row.js";

export interface OutageRow {
  readonly part: string;
  readonly since: Date;
}

/** Returns whether the outage is new. */
export const insertOutage = writeRow<OutageRow>({
  table: "log_outages",
  sql: `
    insert into log_outages (tenant_id, part, since) values (:tenant, :part, :since) on conflict do nothing returning 1`,
  parameters: { part: text(({ part }) => part), since: time(({ since }) => since) },
  sortKey: ({ part }) => part,
});

export const listOutages = defineRows<"all", OutageRow>(
  "log_outages",
  (sql, tenantId) => sql`select part, since from log_outages where tenant_id = ${tenantId} order by since, part`,
);

/** Ends the current outage and returns its beginning; null if no outage was recorded. */
export const deleteOutage = boundQuery<string, Date | null, Date>({
  table: "log_outages",
  kind: "write",
  sql: "delete from log_outages where tenant_id = :tenant and part = :part returning since",
  parameters: { part: text((part) => part) },
  row: (column) => column.time(),
  outputs: (rows) => rows.map(([since]) => since ?? null),
});
