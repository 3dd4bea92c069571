import type { TenantBatch } from "./tenant-queue.js";

export interface BatchLoad {
  /** Connections in total, and those that a transaction uses now. */
  readonly connections: number;
  readonly used: number;
  readonly queued: number;
  /** Transactions since the start, and the requests that they carried. */
  readonly transactions: number;
  readonly requests: number;
}

export class TransactionCounts {
  inFlight = 0;
  /** Connections in use by tenants that were stalled when their transaction started. */
  stalled = 0;
  /** Transactions since the start, and the requests that they carried. */
  transactions = 0;
  requests = 0;

  started({ queue, requests: { length } }: TenantBatch, isStalled: boolean): void {
    queue.transactions += 1;
    queue.inFlight += length;
    this.inFlight += length;
    this.transactions += 1;
    this.requests += length;
    if (isStalled) this.stalled += 1;
  }

  ended({ queue, requests: { length } }: TenantBatch, wasStalled: boolean): void {
    queue.transactions -= 1;
    queue.inFlight -= length;
    this.inFlight -= length;
    if (wasStalled) this.stalled -= 1;
  }
}
