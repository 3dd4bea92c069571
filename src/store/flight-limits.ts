/** How many requests may fly together, wait, and for how long. */
export interface FlightLimits {
  /** Requests that share one transaction. */
  readonly batch: number;
  /** Flights of one tenant at a time: its other requests gather for the next. */
  readonly perTenant: number;
  /**
   * Milliseconds that requests wait for others, at most, while a flight of their tenant carries more than twice as many. A
   * flight costs the processor as much as three requests do.
   */
  readonly company: number;
  readonly queuePerTenant: number;
  readonly queueInAll: number;
  /** Milliseconds a request waits for its flight. */
  readonly wait: number;
  /** Milliseconds after which a flight without an answer is given up, together with its connection. */
  readonly patience: number;
  /** Milliseconds before each look at a commit that was not acknowledged. */
  readonly looks: readonly number[];
}

/** 100 rows in 2 flights a tenant measured best: 42.9 k rows/s where single inserts reached 13.8 k (storage study 2.2). */
export const FAST_LIMITS: FlightLimits = {
  batch: 100,
  perTenant: 2,
  company: 10,
  queuePerTenant: 1_000,
  queueInAll: 10_000,
  wait: 2_000,
  patience: 10_000,
  looks: [0, 1_000, 3_000],
};

/** Lists, counts and sweeps fly alone, so that a slow one delays no other. */
export const SLOW_LIMITS: FlightLimits = {
  batch: 1,
  perTenant: 4,
  company: 0,
  queuePerTenant: 200,
  queueInAll: 2_000,
  wait: 2_000,
  patience: 30_000,
  looks: [0, 1_000, 3_000],
};
