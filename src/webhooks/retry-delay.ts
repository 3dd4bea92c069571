const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;

/** Waits before the retries: together three days. */
const DELAYS: readonly number[] = [
  5 * SECOND_MS,
  30 * SECOND_MS,
  2 * MINUTE_MS,
  10 * MINUTE_MS,
  30 * MINUTE_MS,
  HOUR_MS,
  2 * HOUR_MS,
  4 * HOUR_MS,
  8 * HOUR_MS,
  12 * HOUR_MS,
  12 * HOUR_MS,
  12 * HOUR_MS,
  12 * HOUR_MS,
  8 * HOUR_MS,
];

/** For how long a webhook may fail before it is disabled. */
export const RETRIED_FOR_MS = DELAYS.reduce((sum, delay) => sum + delay, 0);

/**
 * Milliseconds until the next attempt after a number of failed ones, with up to a fifth less or more: receivers that come
 * back must not get everything at once. Undefined: no attempt is left.
 */
export function attemptDelay(failed: number, random: () => number = Math.random): number | undefined {
  const delay = DELAYS[failed - 1];
  return delay === undefined ? undefined : delay * (0.8 + 0.4 * random());
}
