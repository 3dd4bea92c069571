import type { Connection } from "../wire/connection.js";
import type { Execution } from "../wire/step.js";
import type { Receiver, StatementBatch, StatementContext, StatementGroup } from "./statement-batch.js";
import type { Table } from "./tables.js";

interface RowExecution<Row> extends Execution {
  readonly rows: readonly Row[];
}

/** What all statements are defined by. */
export interface GroupDefinition<Input> {
  /** The table whose rows it locks, or that it reads first. */
  readonly table: Table;
  /**
   * Sorts the inputs of one transaction. All transactions lock rows in this order. Absent: by the id or key that the input
   * is or has; others stay in the order of their calls.
   */
  sortKey?(input: Input): string;
}

/** A write of inputs without an id or key of their own says in which order it locks rows. */
export type WriteOrder<Input> = [Input] extends [string | Buffer | { readonly id: unknown }]
  ? unknown
  : Required<Pick<GroupDefinition<Input>, "sortKey">>;

interface OutputDefinition<Input, Output, Row> extends GroupDefinition<Input> {
  /** Returns the outputs in the order of the inputs. `rows` has an item for each execution. */
  outputs(rows: readonly (readonly Row[])[], inputs: readonly Input[]): readonly Output[];
}

type Execute<Input, Row> = (inputs: readonly Input[], context: StatementContext) => readonly RowExecution<Row>[];

/** All inputs of one statement in one step, in the order of their sort keys, with the callbacks for its outputs. */
export class QueryGroup<Input, Output, Row = unknown> implements StatementGroup {
  readonly rank: number;
  readonly #definition: OutputDefinition<Input, Output, Row>;
  readonly #execute: Execute<Input, Row>;
  readonly #onSent: () => void;
  #inputs: Input[] = [];
  /** What waits for the output of each input. */
  #receivers: (Receiver<Output> | undefined)[] = [];
  #executions: readonly RowExecution<Row>[] = [];
  #outputs: readonly Output[] = [];

  constructor(
    rank: number,
    definition: OutputDefinition<Input, Output, Row>,
    execute: Execute<Input, Row>,
    onSent: () => void,
  ) {
    this.rank = rank;
    this.#definition = definition;
    this.#execute = execute;
    this.#onSent = onSent;
  }

  add(input: Input, receiver: Receiver<Output> | undefined): void {
    this.#inputs.push(input);
    this.#receivers.push(receiver);
  }

  /** Sorts the inputs first: all transactions lock rows in this order. */
  addTo(connection: Connection, context: StatementContext): void {
    this.#onSent();
    if (this.#inputs.length > 1) this.#sort();
    this.#executions = this.#execute(this.#inputs, context);
    for (const execution of this.#executions) connection.add(execution);
  }

  #sort(): void {
    const { sortKey = inputKey } = this.#definition;
    const keys = this.#inputs.map((input) => sortKey(input));
    // Ids of the vault rise, so most inputs arrive in order.
    if (keys.every((key, index) => index === 0 || (keys[index - 1] ?? "") <= key)) return;
    const sorted = this.#inputs
      .map((input, index) => ({ input, key: keys[index] ?? "", receiver: this.#receivers[index] }))
      .sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0));
    this.#inputs = sorted.map(({ input }) => input);
    this.#receivers = sorted.map(({ receiver }) => receiver);
  }

  read(): void {
    const { table } = this.#definition;
    const rows = this.#executions.map((execution) => execution.rows);
    this.#outputs = this.#definition.outputs(rows, this.#inputs);
    if (this.#outputs.length !== this.#inputs.length && this.#receivers.some((receiver) => receiver)) {
      throw new Error(`a statement on ${table} returned ${this.#outputs.length} of ${this.#inputs.length} inputs`);
    }
  }

  deliver(): void {
    this.#outputs.forEach((output, index) => {
      this.#receivers[index]?.receive(output);
    });
  }
}

/**
 * The group of one statement in the batch that is being filled. Batches are filled one after the other, so it remembers
 * only one, until that is sent. The group holds the inputs.
 */
export class CurrentGroup<Input, Output> {
  #current: { readonly batch: StatementBatch; readonly group: QueryGroup<Input, Output> } | undefined;

  /** Returns the group in a batch. The statement's first input makes it. */
  in(batch: StatementBatch, make: () => QueryGroup<Input, Output>): QueryGroup<Input, Output> {
    if (this.#current?.batch !== batch || !batch.mayJoin(this.#current.group)) {
      this.#current = { batch, group: make() };
      batch.add(this.#current.group);
    }
    return this.#current.group;
  }

  forget(): void {
    this.#current = undefined;
  }
}

function inputKey(input: unknown): string {
  if (typeof input === "string") return input;
  if (Buffer.isBuffer(input)) return input.toString("hex");
  return typeof input === "object" && input !== null && "id" in input ? String(input.id) : "";
}
