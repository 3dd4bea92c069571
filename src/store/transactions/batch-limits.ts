/**
 * Limits on the transactions of a pool of connections, and on the requests that wait for one. overload-detector.ts limits
 * the requests of a tenant.
 */
export interface BatchLimits {
  /** Most requests in one transaction. */
  readonly batch: number;
  /** Most concurrent transactions of one tenant. Its other requests collect for the next one. */
  readonly transactionsPerTenant: number;
  /**
   * Milliseconds for which a tenant's requests wait for others while more than twice as many are in running transactions
   * of the tenant. A transaction costs as much CPU time as three requests.
   */
  readonly batchingWindowMs: number;
  /**
   * Most pipelines at a time, in which small batches of several tenants travel together. What arrives meanwhile makes
   * the next one. 0: none.
   */
  readonly pipelines: number;
  /** Milliseconds for which a pipeline waits for more tenants while many wait for the main thread. */
  readonly pipelineWindowMs: number;
  readonly queuePerTenant: number;
  readonly queueInAll: number;
  /** Milliseconds that a request waits for its transaction. */
  readonly waitMs: number;
  /** Milliseconds after which an unanswered transaction is cancelled and its connection dropped. */
  readonly timeoutMs: number;
  /**
   * Milliseconds after which a connection is dropped that has not ended one step of a transaction: twice the statement
   * timeout, and a second. The database's own timeout has no
   * effect if it does not respond, or if it waits for a node of its cluster that does not: Citus 13 asks that node to
   * cancel the statement, and waits for it. Absent: `timeoutMs` alone.
   */
  readonly stepTimeoutMs?: number;
  /** Milliseconds before each attempt to resolve an unknown commit. */
  readonly retryDelays: readonly number[];
}

/**
 * The best measured setting: 100 rows in 2 transactions a tenant reach 42.9 k rows/s, single inserts 13.8 k on
 * two cores. What waits is bounded by number. The time is for a database that stalls: with 2 s a create among six test
 * runs on two cores was refused after 3.5 s, though the database was at work.
 */
export const SHARED_LIMITS: BatchLimits = {
  batch: 100,
  transactionsPerTenant: 2,
  batchingWindowMs: 10,
  pipelines: 2,
  pipelineWindowMs: 5,
  queuePerTenant: 1_000,
  queueInAll: 10_000,
  waitMs: 5_000,
  timeoutMs: 10_000,
  retryDelays: [0, 1_000, 3_000],
};

/**
 * Ordinary transactions. One tenant gets only some of the connections: its slow transactions, which may wait 2 s for a
 * lock, must not delay other tenants. Requests queue rather than fail: 16 writers of one token, or a burst that fills
 * an HTTP/2 connection, are served one after the other.
 */
export const ORDINARY_LIMITS: BatchLimits = {
  batch: 1,
  transactionsPerTenant: 4,
  batchingWindowMs: 0,
  pipelines: 0,
  pipelineWindowMs: 0,
  queuePerTenant: 1_000,
  queueInAll: 10_000,
  waitMs: 10_000,
  timeoutMs: 15_000,
  stepTimeoutMs: 11_000,
  retryDelays: [0, 1_000, 3_000],
};

/**
 * Lists, counts and sweeps. Each runs alone, because a slow one would delay the others. An HTTP/2 connection carries
 * 128 requests, and a program that pages through several lists sends that many at once: 200 lists took 1.9 s on two
 * idle cores. Requests queue rather than fail, for half the time that a request may take.
 */
export const BULK_LIMITS: BatchLimits = {
  batch: 1,
  transactionsPerTenant: 4,
  batchingWindowMs: 0,
  pipelines: 0,
  pipelineWindowMs: 0,
  queuePerTenant: 400,
  queueInAll: 2_000,
  waitMs: 15_000,
  timeoutMs: 30_000,
  stepTimeoutMs: 5_000,
  retryDelays: [0, 1_000, 3_000],
};
