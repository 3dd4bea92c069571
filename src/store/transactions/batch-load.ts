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
