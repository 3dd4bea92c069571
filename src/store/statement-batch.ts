import type { TenantId } from "../base/ids.js";
import type { Connection } from "./wire/connection.js";

/** What every statement of a transaction may refer to. */
export interface StatementContext {
  readonly tenantId: TenantId;
  /** When the transaction started. */
  readonly now: Date;
}

/**
 * A statement that requests of one transaction run together: their inputs go to the database in as few messages as can be.
 * Made once, at the top of the module that owns its table.
 */
export interface Statement<Input, Output> {
  readonly kind: "read" | "write";
  /** Enqueued in an ordinary transaction, it runs with the commit: see {@link StatementBatch}. */
  readonly isAtCommit: boolean;
  /** Whether a write has changed anything, by its output. */
  hasWritten(output: Output): boolean;
  /** Adds an input to the next step of a transaction. Without `answer` the output is not wanted. */
  joinTo(batch: StatementBatch, input: Input, answer?: (output: Output) => void): void;
}

/** All inputs of one statement in one step. */
export interface StatementGroup {
  /** Its place in the order of locks. */
  readonly rank: number;
  /** Adds what is to be run to the connection's step. */
  addTo(connection: Connection, context: StatementContext): void;
  /** Makes the outputs of the rows that came. */
  read(): void;
  /** Hands the outputs out. */
  deliver(): void;
}

/**
 * The order in which the statements of a step run: the order of locks, which is the same in every transaction, or the order of
 * the calls.
 */
export type StatementOrder = "locks" | "calls";

/** What all requests of a transaction want run in its next step. */
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

  /** Whether another input may join a group. In the order of the calls, only one that follows at once may. */
  mayJoin(group: StatementGroup): boolean {
    return this.#order === "locks" || this.#groups.at(-1) === group;
  }

  /**
   * Adds everything to the connection's step.
   * @throws where a value cannot be encoded. Nothing was sent then.
   */
  addTo(connection: Connection, context: StatementContext): void {
    if (this.#order === "locks") this.#groups.sort((a, b) => a.rank - b.rank);
    for (const group of this.#groups) group.addTo(connection, context);
  }

  /** Hands the answers out, after all of the step has succeeded. @throws where one is not as it should be. */
  deliver(): void {
    for (const group of this.#groups) group.read();
    for (const group of this.#groups) group.deliver();
  }
}

/**
 * The group of one statement in the batch that is being filled. Batches are filled one after the other, so that one is
 * remembered, until it is sent: it holds the inputs.
 */
export class CurrentGroup<Group extends StatementGroup> {
  #current: { readonly batch: StatementBatch; readonly group: Group } | undefined;

  /** The group in a batch, which is made at the statement's first input. */
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

/** The inputs of one statement, in the order of their sort keys, and who waits for an output. */
export class GroupedInputs<Input, Output> {
  readonly #items: { input: Input; key: string; answer: ((output: Output) => void) | undefined }[] = [];
  #outputs: readonly Output[] = [];

  add(input: Input, key: string, answer: ((output: Output) => void) | undefined): void {
    this.#items.push({ input, key, answer });
  }

  /** Rows are locked in one order everywhere. */
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
    for (const [index, output] of this.#outputs.entries()) this.#items[index]?.answer?.(output);
  }
}

/**
 * Sizes that inputs are cut into. Each size is a prepared statement of its own on each connection, so that there must not be
 * a hundred of them; 8 down to 1 are all there because most batches are small.
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
