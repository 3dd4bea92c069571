import { defineForEach } from "./row-statements.js";
import type { Statement, Table } from "./statement.js";

/** Rows deleted per transaction. Deleting a million at once would exceed the statement timeout, and never succeed. */
export const ROWS_PER_REMOVAL = 1_000;

/**
 * Deletes a tenant's expired rows, longest expired first, and returns how many. Fewer than {@link ROWS_PER_REMOVAL}
 * means that none is left; more means that several had the same time.
 * @param column with the expiry time. It follows the tenant in an index of the table.
 * @param only a condition on the rows to delete, which is part of that index.
 */
export function defineRemoval(table: Table, column: string, only = "true"): Statement<"due", number> {
  return defineForEach<"due", number, unknown>(
    "write",
    table,
    (sql, tenantId, _, at) => {
      const due = sql`tenant_id = ${tenantId} and ${sql(column)} <= ${at} and ${sql.unsafe(only)}`;
      return sql`
        delete from ${sql(table)} where ${due} and ${sql(column)} <= (
          select max(oldest.until) from (
            select ${sql(column)} as until from ${sql(table)} where ${due} order by ${sql(column)} limit ${ROWS_PER_REMOVAL}
          ) oldest
        ) returning 1`;
    },
    ({ length }) => length,
  );
}
