import type { SqlTag } from "./statement.js";

/** The condition that `expires_at` is in the future, in a bound statement. See {@link isUnexpired}. */
export const IS_UNEXPIRED_SQL = "(expires_at > :now) is true";

/**
 * A condition that the time in a column is in the future, for a row that is found by its key. Each such column has an
 * index for the sweeps. If the statement was planned while the table was empty, a plain comparison makes PostgreSQL
 * scan that index for all later rows: for each token read, all codes of its tenant's last hour. `is true` turns it into
 * a mere filter.
 */
export function isUnexpired(sql: SqlTag, column: "expires_at" | "s.expires_at" | "c.due_at", at: Date) {
  return sql`(${sql.unsafe(column)} > ${at}) is true`;
}
