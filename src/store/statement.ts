import type { TenantId } from "../base/ids.js";
import { type SqlTag, type SqlText, sqlTag, TextExecution } from "./sql-text.js";
import {
  CurrentGroup,
  GroupedInputs,
  inPreparedSizes,
  type Statement,
  type StatementContext,
  type StatementGroup,
} from "./statement-batch.js";
import { rankOf, type Table } from "./tables.js";
import type { Connection } from "./wire/connection.js";

export type { SqlTag } from "./sql-text.js";
export type { Statement } from "./statement-batch.js";
export { TABLES, type Table } from "./tables.js";

/** A query that has not been sent yet. */
export type Query<Row> = SqlText<Row>;

interface Shared<Input> {
  readonly table: Table;
  /**
   * Before all else on its table in one step, whichever request asked first: a look that is not to see half of another's
   * change, or a removal that is not to take what another puts in its place.
   */
  readonly comesFirst?: boolean;
  /** Inputs of one transaction are sorted by this, so that rows are locked in one order everywhere. */
  sortKey(input: Input): string;
}

/** How a statement that many requests of a tenant share is run, its text made for each step. */
export interface StatementDefinition<Input, Output, Row> extends Shared<Input> {
  readonly kind: "read" | "write";
  /** The queries for all inputs of a step. `at` is the time of the transaction. */
  queries(sql: SqlTag, tenantId: TenantId, inputs: readonly Input[], at: Date): readonly Query<Row>[];
  /** The answers in the order of the inputs, given the rows of each query. */
  answers(rows: readonly (readonly Row[])[], inputs: readonly Input[]): readonly Output[];
}

/** A statement whose answer nobody asks for. */
export interface WriteDefinition<Input> extends Shared<Input> {
  queries(sql: SqlTag, tenantId: TenantId, inputs: readonly Input[], at: Date): readonly Query<unknown>[];
}

/** A statement that answers each of its inputs. New ones are bound: see bound-statement.ts. */
export function defineStatement<Input, Output, Row>(
  definition: StatementDefinition<Input, Output, Row>,
): Statement<Input, Output> {
  const current = new CurrentGroup<TextGroup<Input, Output, Row>>();
  const makeGroup = () => new TextGroup(definition, () => current.forget());
  return {
    kind: definition.kind,
    isAtCommit: false,
    hasWritten: () => true,
    joinTo(batch, input, answer) {
      current.in(batch, makeGroup).inputs.add(input, definition.sortKey(input), answer);
    },
  };
}

/** A statement whose answer nobody waits for: it goes with the next step, or with the commit. */
export function defineWrite<Input>(definition: WriteDefinition<Input>): Statement<Input, never> {
  return defineStatement<Input, never, unknown>({
    kind: "write",
    table: definition.table,
    comesFirst: definition.comesFirst ?? false,
    sortKey: (input) => definition.sortKey(input),
    queries: (sql, tenantId, inputs, at) => definition.queries(sql, tenantId, inputs, at),
    answers: () => [],
  });
}

class TextGroup<Input, Output, Row> implements StatementGroup {
  readonly rank: number;
  readonly inputs = new GroupedInputs<Input, Output>();
  readonly #definition: StatementDefinition<Input, Output, Row>;
  readonly #onSent: () => void;
  #sorted: readonly Input[] = [];
  #runs: TextExecution<Row>[] = [];

  constructor(definition: StatementDefinition<Input, Output, Row>, onSent: () => void) {
    this.#definition = definition;
    this.#onSent = onSent;
    this.rank = rankOf(definition.table, definition.comesFirst ? "first" : undefined);
  }

  addTo(connection: Connection, { tenantId, now }: StatementContext): void {
    this.#onSent();
    this.#sorted = this.inputs.sorted();
    const queries = this.#definition.queries(sqlTag, tenantId, this.#sorted, now);
    this.#runs = queries.map((query) => new TextExecution(query));
    for (const run of this.#runs) connection.add(run);
  }

  read(): void {
    const rows = this.#runs.map((run) => run.rows);
    this.inputs.take(this.#definition.answers(rows, this.#sorted), `a statement on ${this.#definition.table}`);
  }

  deliver(): void {
    this.inputs.deliver();
  }
}

/** Cuts inputs into prepared sizes: one query each. */
export function inSizes<Input, Row>(
  inputs: readonly Input[],
  query: (piece: readonly Input[]) => Query<Row>,
): Query<Row>[] {
  return inPreparedSizes(inputs).map(query);
}
