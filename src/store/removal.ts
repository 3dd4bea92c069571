import { defineStatement, type Statement, type Table } from "./statement.js";

/** Rows that one transaction removes: a million at once take longer than a statement may, and would never go. */
export const REMOVED_AT_ONCE = 1_000;

/**
 * Removes a tenant's rows whose time is over, the longest over first. Answers how many went: with fewer than
 * {@link REMOVED_AT_ONCE} none is left, with more several had the same time.
 * @param column until when a row lasts. It follows the tenant in an index of the table.
 * @param only the rows that go at all, as a condition that is part of that index.
 */
export function defineRemoval(table: Table, column: string, only = "true"): Statement<"due", number> {
  return defineStatement<"due", number, unknown>({
    table,
    kind: "write",
    sortKey: () => "",
    queries: (sql, tenantId, inputs, at) =>
      inputs.map(() => {
        const due = sql`tenant_id = ${tenantId} and ${sql(column)} <= ${at} and ${sql.unsafe(only)}`;
        return sql`
          delete from ${sql(table)} where ${due} and ${sql(column)} <= (
            select max(oldest.until) from (
              select ${sql(column)} as until from ${sql(table)} where ${due} order by ${sql(column)} limit ${REMOVED_AT_ONCE}
            ) oldest
          ) returning 1`;
      }),
    answers: (rows) => rows.map(({ length }) => length),
  });
}
