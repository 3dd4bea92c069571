import type { TenantId } from "../../base/ids.js";
import type { Engine } from "../postgres/open-connection.js";
import type { Statement } from "../statements/statement-batch.js";
import type { MemoryNeeded, ReadMemory } from "./large-reads.js";

/** The rights under which a request's transactions may commit. */
export interface Authority {
  /** The tenant's revision at which the caller was authorized. */
  readonly revision: number;
  /** For large values that the work reads. Absent: they are not counted. */
  readonly memory?: ReadMemory | undefined;
}

export interface CommitMarker {
  readonly createdAt: Date;
  readonly id: string;
}

export interface TransactionStart {
  readonly now: Date;
  /** Whether this process knows of no log row of the tenant in this minute. */
  readonly isFirstInMinute: boolean;
}

/**
 * A transaction of one tenant, as the domain sees it. Store modules offer statements, and functions over it such as
 * `findToken(tx, id)`.
 *
 * There are two kinds. Code that takes this interface runs in both.
 *
 * - An *ordinary* transaction ({@link OrdinaryTransaction}) belongs to one request.
 * - A *shared* transaction runs requests of one tenant together: token create, read, tokenize and detokenize, use by
 *   the proxy, and lookups of single rows. All requests take each step at the same time: their statements go to the
 *   database in one write, in lock order (tables.ts), and the last step carries the commit. The work of a request must
 *   therefore await only this interface, and lock rows in that order only. Where it only reads before its last step, each
 *   step may be a transaction of its own (transaction-pipeline.ts).
 *
 * In both kinds a `throw` discards everything that the request wrote. In a shared transaction a `throw` before the
 * first write does not affect the others; a later one makes them run again. In both kinds, work runs again from its
 * start after a conflict with another transaction or a lost connection, so it must change nothing outside of the
 * transaction.
 *
 * Statement errors do not appear at a query: they end the transaction.
 */
export interface Transaction {
  readonly tenantId: TenantId;
  /** When the transaction started. Everything that it writes gets this time. */
  readonly now: Date;
  /** See {@link TransactionStart}. */
  readonly isFirstInMinute: boolean;
  /**
   * Whether a webhook of the tenant may ask for events of a type. False only if the rights that guard the transaction say
   * so; otherwise the statement that writes the event decides.
   */
  listensTo(eventType: string): boolean;
  /** The database engine, for the few statements that not all support. */
  readonly engine: Engine;
  /**
   * Reserves memory for large values before they are read. Without free memory the work ends with
   * {@link MemoryNeeded}, and runs again when memory is free.
   * @param storedBytes total size of the values, as stored.
   * @throws {MemoryNeeded}; {Fault} validation_failed if the transaction reads too much.
   */
  reserve(storedBytes: number): void;
  query<Input, Output>(statement: Statement<Input, Output>, input: Input): Promise<Output>;
  /**
   * Runs a statement that may go with the commit; no query or enqueue may follow. Saves a trip for a request with a
   * single query. If the commit is not acknowledged, the output is lost and the work runs again, although the
   * transaction may have been committed. Use it only for work that may happen twice.
   */
  queryLast<Input, Output>(statement: Statement<Input, Output>, input: Input): Promise<Output>;
  /** Runs a statement with the next step or the commit, and drops its output. */
  enqueue<Input>(statement: Statement<Input, unknown>, input: Input): void;
  /** Names a log row that this request certainly writes. An unknown commit is resolved by it. */
  markCommit(marker: CommitMarker): void;
  /** Records that this request has noted log rows in the transaction's minute. */
  markLogged(): void;
}

/**
 * A query that locks the rows that it finds. It is not a {@link Statement}, because a shared transaction must not run
 * it.
 */
export interface RowLock<Input, Output> {
  readonly lock: Statement<Input, Output>;
}

/**
 * A transaction of a single request. It may await anything, and decides by rows that it has locked. Statements run in
 * call order, except writes to rows that all requests of the tenant share: log rows, counters, the idempotency key.
 * Those run with the commit, so a slow request does not block others.
 */
export interface OrdinaryTransaction extends Transaction {
  /**
   * Runs a query and locks the rows that it finds: no other transaction changes or deletes them until this one ends.
   */
  lock<Input, Output>(rows: RowLock<Input, Output>, input: Input): Promise<Output>;
}

export type Work<T, Tx extends Transaction = Transaction> = (tx: Tx) => Promise<T>;
