import type { TenantQueue } from "./tenant-queue.js";

/** The load of a connection pool. */
export interface BatchLoad {
  /** Connections in total, and those that a transaction uses now. */
  readonly connections: number;
  readonly used: number;
  /** Requests that wait for a transaction. */
  readonly queued: number;
  /** Transactions since the start, and the requests that they carried. */
  readonly transactions: number;
  readonly requests: number;
}

/** Counts the transactions of a connection pool. */
export class TransactionCounts {
  /** Requests in transactions that run now. */
  inFlight = 0;
  /** Connections in use by tenants that were stalled when their transaction started. */
  stalled = 0;
  /** Transactions since the start, and the requests that they carried. */
  transactions = 0;
  requests = 0;

  started(queue: TenantQueue, requests: number, isStalled: boolean): void {
    queue.transactions += 1;
    queue.inFlight += requests;
    this.inFlight += requests;
    this.transactions += 1;
    this.requests += requests;
    if (isStalled) this.stalled += 1;
  }

  ended(queue: TenantQueue, requests: number, wasStalled: boolean): void {
    queue.transactions -= 1;
    queue.inFlight -= requests;
    this.inFlight -= requests;
    if (wasStalled) this.stalled -= 1;
  }
}
