import type { TenantId } from "../../base/ids.js";
import { offsetOf, type Page, type PageRequest } from "../../base/page.js";
import type { SqlTag } from "./statement.js";
import { defineStatement, type Query, type Table } from "./statement.js";

interface Total {
  readonly total: number;
}

/** The query of the total (one row, one column `total`) and the query of the page's rows. */
interface PageQueries<Row> {
  readonly total: Query<Total>;
  readonly rows: Query<Row>;
}

/** A statement that reads pages of a list together with the number of rows in the whole list. */
export function definePage<Input, Row extends object>(
  table: Table,
  pair: (sql: SqlTag, tenantId: TenantId, input: Input) => PageQueries<Row>,
) {
  return defineStatement<Input, Page<Row>, Row | Total>({
    table,
    kind: "read",
    sortKey: () => "",
    queries: (sql, tenantId, inputs) =>
      inputs.flatMap((input): Query<Row | Total>[] => {
        const { total, rows } = pair(sql, tenantId, input);
        return [total, rows];
      }),
    answers: (results, inputs) =>
      inputs.map((_, index) => {
        const [count] = results[2 * index] ?? [];
        const items = (results[2 * index + 1] ?? []).filter((row): row is Row => !isTotal(row));
        return { items, total: count && isTotal(count) ? count.total : 0 };
      }),
  });
}

/** The same for the rows of one table, newest first. `wanted` makes conditions that begin with `and`. */
export function defineList<Listing extends PageRequest, Row extends object>(
  table: Table,
  columns: string,
  wanted: (sql: SqlTag, listing: Listing) => Query<unknown>,
) {
  return definePage<Listing, Row>(table, (sql, tenantId, listing) => {
    const from = sql`from ${sql.unsafe(table)} where tenant_id = ${tenantId} ${wanted(sql, listing)}`;
    return {
      total: sql`select count(*) as total ${from}`,
      rows: sql`
        select ${sql.unsafe(columns)} ${from}
        order by created_at desc, id desc limit ${listing.size} offset ${offsetOf(listing)}`,
    };
  });
}

/** A condition that a column has one of these ids; none for an empty list. */
export function isAnyOf(sql: SqlTag, column: string, ids: readonly string[]): Query<unknown> {
  return ids.length === 0 ? sql`` : sql`and ${sql.unsafe(column)} = any(${[...ids]}::uuid[])`;
}

function isTotal(row: object): row is Total {
  return "total" in row;
}
