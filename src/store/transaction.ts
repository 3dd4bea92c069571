import type { TenantId } from "../base/ids.js";
import type { Engine } from "./open-connection.js";
import type { Statement } from "./statement-batch.js";

/** A log row by which a commit that was not acknowledged is looked up. */
export interface CommitMarker {
  readonly createdAt: Date;
  readonly id: string;
}

/** What is known of a transaction when it starts. */
export interface TransactionStart {
  readonly now: Date;
  /** This process has not brought log rows of the tenant into this minute yet, as far as it knows. */
  readonly isFirstInMinute: boolean;
}

/**
 * A transaction of one tenant, as the domain sees it. Store modules offer statements, and functions over it such as
 * `insertToken(tx, row)` or `findToken(tx, id)`.
 *
 * There are two kinds. Code that takes this interface runs in both.
 *
 * - An *ordinary* transaction ({@link OrdinaryTransaction}) is one request's own.
 * - In a *shared* transaction requests of one tenant run together: token create, read, tokenize and detokenize, use by the
 *   proxy, and lookups of single rows. All of them take a step at the same time: what they want run goes to the database in
 *   one write, in the order of locks (tables.ts), and the last step carries the commit. So the work of a request awaits
 *   nothing but this interface, and locks rows in that order only.
 *
 * In both kinds a `throw` leaves nothing of the request behind. In a shared transaction a `throw` before the first write
 * costs the others nothing, and a later one has them run again. Work runs again from its start, in both kinds, after a
 * conflict with another transaction or a lost connection, and so changes nothing outside of the transaction.
 *
 * The errors of statements appear at no query: they end the transaction.
 */
export interface Transaction {
  readonly tenantId: TenantId;
  /** When the transaction started: the time of everything it writes. */
  readonly now: Date;
  /** See {@link TransactionStart}. */
  readonly isFirstInMinute: boolean;
  /** Which database answers: a few statements are not for all. */
  readonly engine: Engine;
  /** Runs a statement, with all that is enqueued, and waits for its output. */
  query<Input, Output>(statement: Statement<Input, Output>, input: Input): Promise<Output>;
  /**
   * Runs a statement that may go with the commit: nothing can be asked or enqueued behind it. One trip for a request that asks
   * only once. Where the commit is not acknowledged, the output is lost with it and the work runs again though the transaction
   * may have been committed: so this is for what may happen twice.
   */
  queryLast<Input, Output>(statement: Statement<Input, Output>, input: Input): Promise<Output>;
  /** Has a statement run with the next step or with the commit. Its output is not wanted. */
  enqueue<Input>(statement: Statement<Input, unknown>, input: Input): void;
  /** Names a log row that this request certainly writes: an unknown commit is looked up by it. */
  markCommit(marker: CommitMarker): void;
  /** Tells that this request has noted that log rows came into the transaction's minute. */
  markLogged(): void;
}

/** A query that locks what it finds. No {@link Statement}, since a shared transaction must not run it. */
export interface RowLock<Input, Output> {
  readonly lock: Statement<Input, Output>;
}

/**
 * A transaction of one request alone. It may await anything, and decides by rows that it has locked. Statements run in the
 * order of the calls, but for those that write what all requests of the tenant share: log rows, counters, the idempotency
 * key. They run with the commit, so that no other request waits for a slow one.
 */
export interface OrdinaryTransaction extends Transaction {
  /** Runs a query and locks the rows that it finds until the transaction ends: nothing else changes or deletes them. */
  lock<Input, Output>(rows: RowLock<Input, Output>, input: Input): Promise<Output>;
}

/** What a request does in a transaction. */
export type Work<T, Tx extends Transaction = Transaction> = (tx: Tx) => Promise<T>;
