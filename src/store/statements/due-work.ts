import { defineHasRow, defineWrittenRows } from "./row-statements.js";
import type { Query, SqlTag, Table } from "./statement.js";

export interface Claim {
  readonly limit: number;
  /** How long no other replica may take them, on the database's clock. */
  readonly seconds: number;
}

interface DueWork {
  /** What a claim changes in a row, beside its lease: a number that shows its former holder that it is taken. */
  readonly change: string;
  readonly columns: string;
  /** Which rows still have work, if not all. `at` is the transaction's time. */
  readonly open?: (sql: SqlTag, at: Date) => Query<unknown>;
}

/** The statements for a table whose rows are work that replicas share: each has `due_at` and `lease_until`. */
export function defineDueWork<Row>(table: Table, { change, columns, open = (sql) => sql`true` }: DueWork) {
  return {
    /** Takes due rows that no replica works on, longest due first. */
    claim: defineWrittenRows<Claim, Row>(
      table,
      (sql, tenantId, { limit, seconds }, at) => sql`
        update ${sql(table)} set lease_until = now() + ${seconds} * interval '1 second', ${sql.unsafe(change)}
        where tenant_id = ${tenantId} and id = any(array(
          select id from ${sql(table)}
          where tenant_id = ${tenantId} and due_at <= ${at} and ${open(sql, at)}
            and (lease_until is null or lease_until < now())
          order by due_at limit ${limit} for update skip locked))
        returning ${sql.unsafe(columns)}`,
    ),
    hasDue: defineHasRow<Date>(
      table,
      (sql, tenantId, until, at) => sql`
        select 1 from ${sql(table)} where tenant_id = ${tenantId} and due_at < ${until} and ${open(sql, at)} limit 1`,
    ),
  };
}
