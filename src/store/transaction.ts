import type { TenantId } from "../base/ids.js";
import type { Boarding, Statement } from "./statement.js";

/** The key of a log row. */
export interface Witness {
  readonly createdAt: Date;
  readonly id: string;
}

/** What is known of a flight when it starts. */
export interface Departure {
  readonly now: Date;
  /** No flight of this process is known to have brought log rows of the tenant's into the same minute yet. */
  readonly isFirstInMinute: boolean;
}

/**
 * One request's part in a transaction that it shares with other requests of its tenant.
 *
 * Work on a transaction awaits nothing but its `ask`s: the flight sends what all of its requests asked for as one batch,
 * and waits for none of them otherwise. It may run several times, so that it changes nothing outside the transaction.
 */
export interface Transaction {
  readonly tenantId: TenantId;
  /** When the flight started: the time of everything it writes. */
  readonly now: Date;
  /** See {@link Departure}. */
  readonly isFirstInMinute: boolean;
  /** Runs a statement and waits for its answer. */
  ask<Input, Output>(statement: Statement<Input, Output>, input: Input): Promise<Output>;
  /** Runs a statement whose answer nobody needs, together with the next batch or the commit. */
  tell<Input>(statement: Statement<Input, unknown>, input: Input): void;
  /** Names a log row that this request writes: an unknown commit is looked up by it. */
  witness(row: Witness): void;
}

export type Work<T> = (tx: Transaction) => Promise<T>;

type Outcome<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly error: unknown };

/** A request aboard a flight: what it wants run next, and how its work ended. */
export class Passenger<T = unknown> implements Transaction {
  readonly tenantId: TenantId;
  readonly now: Date;
  readonly isFirstInMinute: boolean;
  outcome: Outcome<T> | undefined;
  seen: Witness | undefined;
  /** It has written in the open transaction, so that it cannot leave the flight alone any more. */
  hasWritten = false;
  #waiting: { readonly writes: boolean; readonly join: (boarding: Boarding) => void }[] = [];
  #asking = 0;

  constructor(tenantId: TenantId, { now, isFirstInMinute }: Departure) {
    this.tenantId = tenantId;
    this.now = now;
    this.isFirstInMinute = isFirstInMinute;
  }

  /** Starts the work. Its outcome appears here some microtasks after its last answer. */
  start(work: Work<T>): void {
    work(this).then(
      (value) => {
        this.outcome = { ok: true, value };
      },
      (error: unknown) => {
        this.outcome = { ok: false, error };
        this.#waiting = [];
      },
    );
  }

  ask<Input, Output>(statement: Statement<Input, Output>, input: Input): Promise<Output> {
    this.#asking += 1;
    return new Promise((resolve) => {
      const answer = (output: Output) => {
        this.#asking -= 1;
        resolve(output);
      };
      this.#waiting.push({
        writes: statement.kind === "write",
        join: (boarding) => statement.join(boarding, input, answer),
      });
    });
  }

  tell<Input>(statement: Statement<Input, unknown>, input: Input): void {
    this.#waiting.push({
      writes: statement.kind === "write",
      join: (boarding) => statement.join(boarding, input),
    });
  }

  witness(row: Witness): void {
    this.seen ??= row;
  }

  /** Adds what it wants run to the next batch. */
  board(boarding: Boarding): void {
    for (const { writes, join } of this.#waiting) {
      join(boarding);
      if (writes) this.hasWritten = true;
    }
    this.#waiting = [];
  }

  /** Its work neither ended nor waits for an answer of the transaction. */
  get isLost(): boolean {
    return this.outcome === undefined && this.#asking === 0;
  }
}
