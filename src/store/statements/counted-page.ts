import type { TenantId, Uuid } from "../../base/ids.js";
import { MAX_PAGE_BYTES, type Page, type PageRequest, pageOffset } from "../../base/page.js";
import { defineStatement, type Query, type SqlTag, type Table } from "./statement.js";

interface Total {
  readonly total: number;
  readonly bytes?: number;
}

/** A page with the stored bytes of its rows; without rows if these are too many. 0 if the rows have a fixed size. */
export interface SizedPage<Row> extends Page<Row> {
  readonly bytes: number;
}

interface PageQueries<Row> {
  readonly total: Query<Total>;
  readonly rows: Query<Row>;
}

/** A statement that reads pages of a list together with the number of rows in the whole list. */
export function definePage<Input, Row extends object>(
  table: Table,
  pair: (sql: SqlTag, tenantId: TenantId, input: Input) => PageQueries<Row>,
) {
  return defineStatement<Input, SizedPage<Row>, Row | Total>({
    table,
    kind: "read",
    queries: (sql, tenantId, inputs) =>
      inputs.flatMap((input): Query<Row | Total>[] => {
        const { total, rows } = pair(sql, tenantId, input);
        return [total, rows];
      }),
    outputs: (results, inputs) =>
      inputs.map((_, index) => {
        const [count] = results[2 * index] ?? [];
        const items = (results[2 * index + 1] ?? []).filter((row): row is Row => !isTotal(row));
        const { total, bytes = 0 } = count && isTotal(count) ? count : { total: 0 };
        return { items, total, bytes };
      }),
  });
}

/**
 * The same for the rows of one table, newest first. `wanted` makes conditions that begin with `and`.
 * @param bytes the size of a row: a page of several rows above {@link MAX_PAGE_BYTES} is measured, and not read.
 */
export function defineList<Listing extends PageRequest, Row extends object>(
  table: Table,
  columns: string,
  wanted: (sql: SqlTag, listing: Listing, tenantId: TenantId) => Query<unknown>,
  bytes?: RowBytes,
) {
  return definePage<Listing, Row>(table, (sql, tenantId, listing) => {
    const from = sql`from ${sql.unsafe(table)} where tenant_id = ${tenantId} ${wanted(sql, listing, tenantId)}`;
    const page = sql`${from} order by created_at desc, id desc limit ${listing.size} offset ${pageOffset(listing)}`;
    if (bytes === undefined) {
      return { total: sql`select count(*) as total ${from}`, rows: sql`select ${sql.unsafe(columns)} ${page}` };
    }
    return sizedQueries(
      sql,
      { table, columns, bytes: bytes(sql, tenantId) },
      { total: sql`select count(*) ${from}`, page },
    );
  });
}

/**
 * The size of a row of a table, in SQL. A subquery names the tenant by its parameter: Citus supports none that takes it
 * from the row.
 */
export type RowBytes = (sql: SqlTag, tenantId: TenantId) => Query<unknown>;

interface SizedList {
  readonly table: string;
  readonly columns: string;
  readonly bytes: Query<unknown>;
}

/** @param parts the query of the total, and the rest of a query for the page's rows. */
export function sizedQueries<Row>(
  sql: SqlTag,
  { table, columns, bytes }: SizedList,
  { total, page }: { readonly total: Query<unknown>; readonly page: Query<unknown> },
): PageQueries<Row> {
  const rows = sql`(select * ${page}) ${sql.unsafe(table)}`;
  const isSingle = sql`count(*) over () = 1`;
  return {
    total: sql`
      select (${total}) as total, (
        select case when count(*) > 1 then coalesce(sum(${bytes}), 0) else 0 end from ${rows}
      ) as bytes`,
    rows: sql`
      select ${sql.unsafe(columns)} from (
        select ${sql.unsafe(columns)}, ${isSingle} or coalesce(sum(${bytes}) over (), 0) <= ${MAX_PAGE_BYTES} as is_read from ${rows}
      ) sized
      where is_read order by created_at desc, id desc`,
  };
}

export interface IdListing extends PageRequest {
  /** If not empty, lists only these. */
  readonly ids: readonly Uuid[];
}

export function amongIds(sql: SqlTag, { ids }: IdListing): Query<unknown> {
  return matchesAny(sql, "id", ids);
}

/** A condition that a column has one of these ids; none for an empty list. */
export function matchesAny(sql: SqlTag, column: string, ids: readonly string[]): Query<unknown> {
  return ids.length === 0 ? sql`` : sql`and ${sql.unsafe(column)} = any(${[...ids]}::uuid[])`;
}

function isTotal(row: object): row is Total {
  return "total" in row;
}
