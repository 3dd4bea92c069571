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
 * A transaction of one tenant, as the domain sees it. Store modules offer functions over it, such as
 * `insertToken(tx, row)` or `findToken(tx, id)`, and each names a statement of its own file.
 *
 * There are two kinds, which differ in who else is in it:
 *
 * - In a *shared* transaction requests of one tenant run together. All of them take a step at the same time: what they want
 *   run goes to the database in one write, in the order of locks, and the last step carries the commit. So the work of a
 *   request awaits nothing but this interface; it runs again, from its start, whenever another request's failure or a
 *   conflict rolled the transaction back, and changes nothing outside of it until then. A `throw` after a write rolls back all
 *   of them and costs the others another run: a request that fails and yet leaves a log row returns `Refused`. Locks are
 *   taken by rank only, so that `for update` has no place here. The hot path is served so: create, read, tokenize and
 *   detokenize, use by the proxy, and their log rows.
 * - An *ordinary* transaction is one request's own. It may await anything, lock with `for update`, and a `throw` rolls it
 *   back. It runs again after a conflict too (40001, 40P01) or a lost connection.
 *
 * In both, statements that are enqueued run in the order of locks and not in that of the calls, and their errors appear at
 * the next step: at the next `query`, or at the commit.
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
  /** As {@link query}, for statements that are not bound yet. */
  ask<Input, Output>(statement: Statement<Input, Output>, input: Input): Promise<Output>;
  /** As {@link enqueue}, for statements that are not bound yet. */
  tell<Input>(statement: Statement<Input, unknown>, input: Input): void;
}

/** What a request does in a transaction. */
export type Work<T> = (tx: Transaction) => Promise<T>;
