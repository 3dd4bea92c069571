import type { TenantId } from "../base/ids.js";
import type { JsonObject } from "../base/json.js";
import type { TenantKeys } from "../crypto/tenant-keys.js";
import { writeLog } from "../store/audit/audit-logs.js";
import type { Engine } from "../store/postgres/open-connection.js";
import type { Statement } from "../store/statements/statement-batch.js";
import type { CommitMarker, OrdinaryTransaction, RowLock, Transaction } from "../store/transactions/transaction.js";
import type { Actor } from "./actor.js";
import { sealEvent } from "./event-record.js";
import { type EntityType, type EntryDetails, type LogEntry, logEntry, type Operation } from "./log-entry.js";
import { mayHaveReadEvent } from "./read-event-cap.js";

/**
 * The unit of work of the domain: a transaction of one tenant together with the tenant's keys and its log. Functions of
 * the domain take it first, and what they change after it: `updateProxy(tx, id, change)`.
 */
export interface TenantTransaction extends Transaction {
  readonly keys: TenantKeys;
  /** The author of its log rows. Undefined: the server itself. */
  readonly author: Actor | undefined;
  /** Writes a log row about what this transaction does, by its author. Details: a text is the remark. */
  log(entityType: EntityType, entityId: string, operation: Operation, details?: string | EntryDetails): void;
  /**
   * Writes a log row by another author.
   * @param content what its event says of the entity beside id and type: nothing that a masked response would not show.
   */
  record(entry: LogEntry, content?: () => JsonObject): void;
}

/** A {@link TenantTransaction} that may lock rows and await anything. */
export type OrdinaryTenantTransaction = TenantTransaction & OrdinaryTransaction;

/** Work of the server itself. Its log rows have no actor. */
export function tenantTransaction(tx: OrdinaryTransaction, keys: TenantKeys): OrdinaryTenantTransaction;
export function tenantTransaction(tx: Transaction, keys: TenantKeys): TenantTransaction;
export function tenantTransaction(tx: Transaction, keys: TenantKeys): OrdinaryTenantTransaction {
  return new TenantWork(tx, keys);
}

/** A class, because the hot path makes one for each request. */
export class TenantWork implements OrdinaryTenantTransaction {
  readonly tenantId: TenantId;
  readonly now: Date;
  readonly isFirstInMinute: boolean;
  readonly engine: Engine;
  readonly keys: TenantKeys;
  protected readonly tx: Transaction | OrdinaryTransaction;

  constructor(tx: Transaction | OrdinaryTransaction, keys: TenantKeys) {
    if (tx.tenantId !== keys.tenantId) throw new Error("a transaction was given the keys of another tenant");
    this.tx = tx;
    this.tenantId = tx.tenantId;
    this.now = tx.now;
    this.isFirstInMinute = tx.isFirstInMinute;
    this.engine = tx.engine;
    this.keys = keys;
  }

  get author(): Actor | undefined {
    return undefined;
  }

  log(entityType: EntityType, entityId: string, operation: Operation, details?: string | EntryDetails): void {
    const given = typeof details === "string" ? { remark: details } : details;
    this.record(logEntry(entityType, entityId, operation, { actor: this.author, ...given }));
  }

  record(entry: LogEntry, content?: () => JsonObject): void {
    const { event } = entry;
    const isWanted = event !== undefined && this.listensTo(event);
    const isSent = isWanted && (event !== "token.read" || mayHaveReadEvent(this.tenantId, this.now));
    writeLog(this, entry, isSent ? sealEvent(this.keys, { ...entry, event }, this.now, content?.()) : undefined);
  }

  listensTo(eventType: string): boolean {
    return this.tx.listensTo(eventType);
  }

  reserve(storedBytes: number): void {
    this.tx.reserve(storedBytes);
  }

  query<Input, Output>(statement: Statement<Input, Output>, input: Input): Promise<Output> {
    return this.tx.query(statement, input);
  }

  queryLast<Input, Output>(statement: Statement<Input, Output>, input: Input): Promise<Output> {
    return this.tx.queryLast(statement, input);
  }

  enqueue<Input>(statement: Statement<Input, unknown>, input: Input): void {
    this.tx.enqueue(statement, input);
  }

  lock<Input, Output>(rows: RowLock<Input, Output>, input: Input): Promise<Output> {
    // The types of shared transactions do not offer it.
    if (!("lock" in this.tx)) throw new Error("a shared transaction locks no rows of its own");
    return this.tx.lock(rows, input);
  }

  markCommit(marker: CommitMarker): void {
    this.tx.markCommit(marker);
  }

  markLogged(): void {
    this.tx.markLogged();
  }
}
