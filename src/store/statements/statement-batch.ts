import { atOnce, type Steps } from "../../base/caller-turns.js";
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
  /** Adds an input to the next step of a transaction. Without a receiver the output is dropped. */
  joinTo(batch: StatementBatch, input: Input, receiver?: Receiver<Output>): void;
}

/** What waits for the output of one input. */
export interface Receiver<Output> {
  receive(output: Output): void;
}

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

export type StatementOrder = "locks" | "calls";

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
    atOnce(this.inSteps(connection, context));
  }

  /** The same, each statement in a step: that of 100 tokens takes a millisecond or two. */
  *inSteps(connection: Connection, context: StatementContext): Steps<void> {
    if (this.#order === "locks") this.#groups.sort((a, b) => a.rank - b.rank);
    for (const group of this.#groups) {
      yield;
      group.addTo(connection, context);
    }
  }

  /**
   * Passes the results on, after the whole step has succeeded.
   * @throws if a result is malformed.
   */
  deliver(): void {
    for (const group of this.#groups) group.read();
    for (const group of this.#groups) group.deliver();
  }
}
