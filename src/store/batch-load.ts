/** How busy a pool of connections is. */
export interface BatchLoad {
  /** Connections, and those of them that a transaction uses now. */
  readonly connections: number;
  readonly used: number;
  /** Requests that wait for a transaction. */
  readonly queued: number;
  /** Transactions since the start, and the requests that they carried. */
  readonly transactions: number;
  readonly requests: number;
}
