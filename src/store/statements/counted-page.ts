import type { TenantId } from "../../base/ids.js";
import type { Page } from "../../base/page.js";
import type { SqlTag } from "./statement.js";
import { defineStatement, type Query, type Table } from "./statement.js";

interface Total {
  readonly total: number;
}

interface PageDefinition<Input, Row> {
  readonly table: Table;
  sortKey(input: Input): string;
  /** The query of the total (one row, one column `total`) and the query of the page's rows. */
  pair(sql: SqlTag, tenantId: TenantId, input: Input): { readonly total: Query<Total>; readonly rows: Query<Row> };
}

/** A statement that reads pages of a list together with the number of rows in the whole list. */
export function definePage<Input, Row extends object>({ table, sortKey, pair }: PageDefinition<Input, Row>) {
  return defineStatement<Input, Page<Row>, Row | Total>({
    table,
    kind: "read",
    sortKey,
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

function isTotal(row: object): row is Total {
  return "total" in row;
}
