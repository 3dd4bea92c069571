/** How many requests may share a transaction, wait, and for how long. */
export interface BatchLimits {
  /** Requests that share one transaction. */
  readonly batch: number;
  /** Transactions of one tenant at a time: its other requests gather for the next. */
  readonly perTenant: number;
  /**
   * Milliseconds that requests wait for others, at most, while a transaction of their tenant carries more than twice as many.
   * A transaction costs the processor as much as three requests do.
   */
  readonly batchingWindowMs: number;
  readonly queuePerTenant: number;
  readonly queueInAll: number;
  /** Milliseconds a request waits for its transaction. */
  readonly waitMs: number;
  /** Milliseconds after which a transaction without an answer is given up, together with its connection. */
  readonly timeoutMs: number;
  /** Milliseconds before each try to find out what became of a commit that was not acknowledged. */
  readonly retryDelays: readonly number[];
}

/** 100 rows in 2 transactions a tenant measured best: 42.9 k rows/s where single inserts reached 13.8 k (storage study 2.2). */
export const FAST_LIMITS: BatchLimits = {
  batch: 100,
  perTenant: 2,
  batchingWindowMs: 10,
  queuePerTenant: 1_000,
  queueInAll: 10_000,
  waitMs: 2_000,
  timeoutMs: 10_000,
  retryDelays: [0, 1_000, 3_000],
};

/**
 * Ordinary transactions. One tenant has at most some of the connections, so that its slow ones, which may wait 2 s for a lock,
 * delay no other tenant. They wait for each other rather than fail: 16 writers of one token, and bursts of a whole HTTP/2
 * connection of requests, are served one after the other.
 */
export const ORDINARY_LIMITS: BatchLimits = {
  batch: 1,
  perTenant: 4,
  batchingWindowMs: 0,
  queuePerTenant: 1_000,
  queueInAll: 10_000,
  waitMs: 10_000,
  timeoutMs: 15_000,
  retryDelays: [0, 1_000, 3_000],
};

/**
 * Lists, counts and sweeps run alone, so that a slow one delays no other. One connection of HTTP/2 carries 128 requests, and a
 * program that pages through several lists at once sends them all: on two cores 200 lists took 1.9 s while nothing else
 * ran. They wait for each other rather than fail, half as long as a request may take.
 */
export const SLOW_LIMITS: BatchLimits = {
  batch: 1,
  perTenant: 4,
  batchingWindowMs: 0,
  queuePerTenant: 400,
  queueInAll: 2_000,
  waitMs: 15_000,
  timeoutMs: 30_000,
  retryDelays: [0, 1_000, 3_000],
};
