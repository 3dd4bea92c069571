import type { TenantId } from "../../base/ids.js";
import { CurrentGroup, type GroupDefinition, QueryGroup, type WriteOrder } from "./query-group.js";
import { type SqlTag, type SqlText, sqlTag, TextExecution } from "./sql-text.js";
import type { Statement, StatementContext } from "./statement-batch.js";
import { lockRank } from "./tables.js";

export type { SqlTag } from "./sql-text.js";
export type { Statement } from "./statement-batch.js";
export { TABLES, type Table } from "./tables.js";

export type Query<Row> = SqlText<Row>;

interface Shared<Input> extends GroupDefinition<Input> {
  /**
   * Runs before all other statements on its table in one step, whichever request called first. For a read that must not
   * see half of another request's change, or a delete that must not take another request's replacement.
   */
  readonly comesFirst?: boolean;
}

/** Defines a statement that many requests of a tenant share. Its text is made for each step. */
export interface StatementDefinition<Input, Output, Row> extends Shared<Input> {
  readonly kind: "read" | "write";
  /** The queries for all inputs of a step. `at` is the transaction's time. */
  queries(sql: SqlTag, tenantId: TenantId, inputs: readonly Input[], at: Date): readonly Query<Row>[];
  /** Returns the results in the order of the inputs, from the rows of each query. */
  outputs(rows: readonly (readonly Row[])[], inputs: readonly Input[]): readonly Output[];
}

/**
 * A statement with a result for each input. For one row or a list of rows use row-statements.ts. A statement of a frequent
 * call is bound (bound-statement.ts): its text is made once, and the inputs of several requests share an execution.
 */
export function defineStatement<Input, Output, Row>(
  definition: StatementDefinition<Input, Output, Row>,
): Statement<Input, Output> {
  const rank = lockRank(definition.table, definition.comesFirst ? "first" : undefined);
  const current = new CurrentGroup<Input, Output>();
  const execute = (inputs: readonly Input[], { tenantId, now }: StatementContext) =>
    definition.queries(sqlTag, tenantId, inputs, now).map((query) => new TextExecution(query));
  const makeGroup = () => new QueryGroup(rank, definition, execute, () => current.forget());
  return {
    kind: definition.kind,
    isAtCommit: false,
    hasWritten: () => true,
    joinTo(batch, input, receiver) {
      current.in(batch, makeGroup).add(input, receiver);
    },
  };
}

/** A statement without a result. It runs with the next step or the commit. */
export function defineWrite<Input>(
  definition: Omit<StatementDefinition<Input, never, unknown>, "kind" | "outputs"> & WriteOrder<Input>,
): Statement<Input, never> {
  return defineStatement<Input, never, unknown>({ ...definition, kind: "write", outputs: () => [] });
}
