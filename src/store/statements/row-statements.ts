import type { TenantId, Uuid } from "../../base/ids.js";
import { defineStatement, type Query, type SqlTag, type Statement, type Table } from "./statement.js";

/** Makes the query for one input. `at` is the transaction's time. */
type QueryFor<Input, Row> = (sql: SqlTag, tenantId: TenantId, input: Input, at: Date) => Query<Row>;

/** A read of at most one row. Its output is null without one. */
export function defineRow<Input, Row>(table: Table, query: QueryFor<Input, Row>): Statement<Input, Row | null> {
  return defineForEach("read", table, query, ([row]) => row ?? null);
}

export function defineRows<Input, Row>(table: Table, query: QueryFor<Input, Row>): Statement<Input, readonly Row[]> {
  return defineForEach("read", table, query, (rows) => rows);
}

/** A read of whether there is any row. */
export function defineHasRow<Input>(table: Table, query: QueryFor<Input, unknown>): Statement<Input, boolean> {
  return defineForEach("read", table, query, ({ length }) => length > 0);
}

/** A read of one row with the number `n`. */
export function defineCount<Input>(table: Table, query: QueryFor<Input, { readonly n: number }>) {
  return defineForEach("read", table, query, ([row]) => row?.n ?? 0);
}

/** A write of at most one row, which ends with `returning`. Its output is null if it wrote none. */
export function defineWrittenRow<Input, Row>(table: Table, query: QueryFor<Input, Row>): Statement<Input, Row | null> {
  return defineForEach("write", table, query, ([row]) => row ?? null);
}

export function defineWrittenRows<Input, Row>(
  table: Table,
  query: QueryFor<Input, Row>,
): Statement<Input, readonly Row[]> {
  return defineForEach("write", table, query, (rows) => rows);
}

/** A write that ends with `returning 1`, and whose output is whether it wrote a row. */
export function defineHasWritten<Input>(table: Table, query: QueryFor<Input, unknown>): Statement<Input, boolean> {
  return defineForEach("write", table, query, ({ length }) => length > 0);
}

/**
 * A write without an output. It runs with the next step or the commit.
 * @param sortKey for inputs without an id or key of their own, if a step may have several: the order in which they lock rows.
 */
export function defineChange<Input>(
  table: Table,
  query: QueryFor<Input, unknown>,
  sortKey?: (input: Input) => string,
): Statement<Input, never> {
  return defineStatement<Input, never, unknown>({
    table,
    kind: "write",
    outputs: () => [],
    ...(sortKey && { sortKey }),
    queries: (sql, tenantId, inputs, at) => inputs.map((input) => query(sql, tenantId, input, at)),
  });
}

/** Inserts a row, created at the transaction's time. `fixed` has the columns with the same value in every new row. */
export function defineInsert<Row extends object>(table: Table, fixed: object = {}): Statement<Row, never> {
  return defineChange<Row>(
    table,
    (sql, tenantId, row, at) =>
      sql`insert into ${sql.unsafe(table)} ${sql({ tenant_id: tenantId, created_at: at, ...fixed, ...row })}`,
  );
}

/** Reads a row by its id. Its output is null without one, and for a row without the property `only`. */
export function defineRead<Row extends { readonly id: Uuid }>(
  table: Table,
  columns: string,
  only = "true",
): Statement<Uuid, Row | null> {
  return defineStatement<Uuid, Row | null, Row>({
    table,
    kind: "read",
    queries: (sql, tenantId, ids) => [
      sql`
        select ${sql.unsafe(columns)} from ${sql.unsafe(table)}
        where tenant_id = ${tenantId} and id = any(${[...ids]}::uuid[]) and ${sql.unsafe(only)}`,
    ],
    outputs: ([rows = []], ids) => ids.map((id) => rows.find((row) => row.id === id) ?? null),
  });
}

/** Reads all rows of a tenant, newest first. */
export function defineAll<Row>(table: Table, columns: string): Statement<"all", readonly Row[]> {
  return defineRows<"all", Row>(
    table,
    (sql, tenantId) => sql`
      select ${sql.unsafe(columns)} from ${sql.unsafe(table)} where tenant_id = ${tenantId}
      order by created_at desc, id desc`,
  );
}

/** Sets columns of a row, at the transaction's time. Returns whether the row was unchanged since it was read. */
export function defineUpdate<Change extends { readonly id: Uuid; readonly revision: number }>(
  table: Table,
): Statement<Change, boolean> {
  return defineHasWritten<Change>(
    table,
    (sql, tenantId, { id, revision, ...columns }, at) => sql`
      update ${sql.unsafe(table)} set ${sql({ ...columns, modified_at: at })}, revision = revision + 1
      where tenant_id = ${tenantId} and id = ${id} and revision = ${revision} returning 1`,
  );
}

/** Deletes a row by its id. Returns whether it existed, with the property `only`. */
export function defineDelete(table: Table, only = "true"): Statement<Uuid, boolean> {
  return defineHasWritten<Uuid>(
    table,
    (sql, tenantId, id) => sql`
      delete from ${sql.unsafe(table)} where tenant_id = ${tenantId} and id = ${id} and ${sql.unsafe(only)} returning 1`,
  );
}

/** A statement with an output of one query for each input. */
export function defineForEach<Input, Output, Row>(
  kind: "read" | "write",
  table: Table,
  query: QueryFor<Input, Row>,
  outputOf: (rows: readonly Row[]) => Output,
): Statement<Input, Output> {
  return defineStatement<Input, Output, Row>({
    table,
    kind,
    queries: (sql, tenantId, inputs, at) => inputs.map((input) => query(sql, tenantId, input, at)),
    outputs: (rows) => rows.map(outputOf),
  });
}
