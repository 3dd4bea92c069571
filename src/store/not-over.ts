import type { SqlTag } from "./statement.js";

/**
 * That the time in a column is still to come, of a row that is found by its key. Each such column has an index for the
 * sweeps. A comparison that it could serve has it walked by all who come later, where the statement was planned while the
 * table was empty: for each token that was read, all codes of its tenant's last hour. `is true` makes it a mere filter.
 */
export function isNotOver(sql: SqlTag, column: "expires_at" | "s.expires_at" | "c.due_at", at: Date) {
  return sql`(${sql.unsafe(column)} > ${at}) is true`;
}
