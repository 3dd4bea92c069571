import type { TenantId } from "../../base/ids.js";
import type { Connection } from "../wire/connection.js";

/** Values that every statement of a transaction may refer to. */
export interface StatementContext {
  readonly tenantId: TenantId;
  /** When the transaction started. */
  readonly now: Date;
}

/**
 * A statement that requests of one transaction run together, with their inputs in as few messages as possible. Create
 * it once, at the top of the module that owns its table.
 */
export interface Statement<Input, Output> {
  readonly kind: "read" | "write";
  /** If enqueued in an ordinary transaction, it runs with the commit: see {@link StatementBatch}. */
  readonly isAtCommit: boolean;
  /** Whether a write has changed anything, judged by its output. */
  hasWritten(output: Output): boolean;
  /** Adds an input to the next step of a transaction. Without `answer` the output is dropped. */
  joinTo(batch: StatementBatch, input: Input, answer?: (output: Output) => void): void;
}

/** All inputs of one statement in one step. */
export interface StatementGroup {
  /** Its position in lock order. */
  readonly rank: number;
  /** Adds its executions to the connection's step. */
  addTo(connection: Connection, context: StatementContext): void;
  /** Makes the outputs from the received rows. */
  read(): void;
  /** Passes the outputs to their requests. */
  deliver(): void;
}

/** The order of the statements in a step: lock order, which is the same in every transaction, or call order. */
export type StatementOrder = "locks" | "calls";

/** The statements that all requests of a transaction want in its next step. */
export class StatementBatch {
  readonly #order: StatementOrder;
  readonly #groups: StatementGroup[] = [];

  constructor(order: StatementOrder = "locks") {
    this.#order = order;
  }

  get isEmpty(): boolean {
    return this.#groups.length === 0;
  }

  add(group: StatementGroup): void {
    this.#groups.push(group);
  }

  /** Whether another input may join a group. In call order, only the very next call may. */
  mayJoin(group: StatementGroup): boolean {
    return this.#order === "locks" || this.#groups.at(-1) === group;
  }

  /**
   * Adds all statements to the connection's step.
   * @throws if a value cannot be encoded. Then nothing was sent.
   */
  addTo(connection: Connection, context: StatementContext): void {
    if (this.#order === "locks") this.#groups.sort((a, b) => a.rank - b.rank);
    for (const group of this.#groups) group.addTo(connection, context);
  }

  /**
   * Passes the answers on, after the whole step has succeeded.
   * @throws if an answer is malformed.
   */
  deliver(): void {
    for (const group of this.#groups) group.read();
    for (const group of this.#groups) group.deliver();
  }
}

/**
 * The group of one statement in the batch that is being filled. Batches are filled one after the other, so it remembers
 * only one, until that is sent. The group holds the inputs.
 */
export class CurrentGroup<Group extends StatementGroup> {
  #current: { readonly batch: StatementBatch; readonly group: Group } | undefined;

  /** Returns the group in a batch. The statement's first input makes it. */
  in(batch: StatementBatch, make: () => Group): Group {
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

/** The inputs of one statement in the order of their sort keys, with the callbacks for its outputs. */
export class GroupedInputs<Input, Output> {
  readonly #items: { input: Input; key: string; answer: ((output: Output) => void) | undefined }[] = [];
  #outputs: readonly Output[] = [];

  add(input: Input, key: string, answer: ((output: Output) => void) | undefined): void {
    this.#items.push({ input, key, answer });
  }

  /** The inputs, sorted. All transactions lock rows in this order. */
  sorted(): readonly Input[] {
    if (this.#items.length > 1) this.#items.sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0));
    return this.#items.map(({ input }) => input);
  }

  /** @param outputs in the order of {@link sorted}. */
  take(outputs: readonly Output[], statement: string): void {
    this.#outputs = outputs;
    if (outputs.length !== this.#items.length && this.#items.some(({ answer }) => answer)) {
      throw new Error(`${statement} answered ${outputs.length} of ${this.#items.length} inputs`);
    }
  }

  deliver(): void {
    this.#outputs.forEach((output, index) => {
      this.#items[index]?.answer?.(output);
    });
  }
}

/**
 * The sizes that inputs are cut into. Each size is a separate prepared statement on each connection, so there must be
 * few. 8 down to 1 are complete because most batches are small.
 */
const SIZES = [64, 32, 16, 8, 7, 6, 5, 4, 3, 2, 1] as const;

/** Cuts inputs into prepared sizes. */
export function inPreparedSizes<Input>(inputs: readonly Input[]): readonly (readonly Input[])[] {
  if (inputs.length <= 8) return inputs.length === 0 ? [] : [inputs];
  const pieces: (readonly Input[])[] = [];
  let from = 0;
  for (const size of SIZES) {
    while (inputs.length - from >= size) {
      pieces.push(inputs.slice(from, from + size));
      from += size;
    }
  }
  return pieces;
}
