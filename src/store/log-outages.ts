import { defineStatement } from "./statement.js";

/** The beginning of an outage of a part of the log. */
export interface OutageRow {
  readonly part: string;
  readonly since: Date;
}

/** Returns whether the outage is new. */
export const insertOutage = defineStatement<OutageRow, boolean, unknown>({
  table: "log_outages",
  kind: "write",
  sortKey: ({ part }) => part,
  queries: (sql, tenantId, outages) =>
    outages.map(
      (outage) => sql`
        insert into log_outages ${sql({ tenant_id: tenantId, ...outage })} on conflict do nothing returning 1`,
    ),
  answers: (rows) => rows.map(({ length }) => length > 0),
});

/** Ends the current outage and returns its beginning; null if no outage was recorded. */
export const deleteOutage = defineStatement<string, Date | null, { readonly since: Date }>({
  table: "log_outages",
  kind: "write",
  sortKey: (part) => part,
  queries: (sql, tenantId, parts) =>
    parts.map((part) => sql`delete from log_outages where tenant_id = ${tenantId} and part = ${part} returning since`),
  answers: (rows) => rows.map(([row]) => row?.since ?? null),
});
