/**
 * Requests of a tenant, waiting or running, from which it may count as overloaded. At 3,000 a second the last of them
 * waits 50 ms.
 */
export const MAX_PENDING = 160;

/** Milliseconds for which a tenant may have {@link MAX_PENDING} or more. A burst of any size is served, not rejected. */
const BURST_MS = 1_000;

/** Milliseconds after the last rejection in which another burst is not tolerated. */
const COOLDOWN_MS = 5_000;

/**
 * An overload ends after this many milliseconds without a rejection. One shorter than this starts no cooldown: a
 * process at half of its capacity that paused for 50 ms finds 160 requests waiting.
 */
const PAUSE_MS = 250;

/**
 * Distinguishes a burst from sustained overload. Under overload, requests are rejected before any part of them is read,
 * which keeps the admitted ones fast. Otherwise the queue would grow until every request waits for seconds.
 */
export class OverloadDetector {
  #since: number | undefined;
  #cooldownUntil = 0;
  #rejectingSince = 0;
  #lastRejection = Number.NEGATIVE_INFINITY;

  /** Whether a request was rejected so recently that another burst would not be absorbed. */
  wasOverloaded(now: number): boolean {
    return now < this.#cooldownUntil;
  }

  /**
   * @param pending requests of the tenant, waiting or running.
   * @param now in milliseconds, never decreasing.
   */
  isOverloaded(pending: number, now: number): boolean {
    if (pending < MAX_PENDING) {
      this.#since = undefined;
      return false;
    }
    this.#since ??= now;
    const isCoolingDown = this.wasOverloaded(now);
    if (!isCoolingDown && now - this.#since <= BURST_MS) return false;
    if (now - this.#lastRejection > PAUSE_MS) this.#rejectingSince = now;
    this.#lastRejection = now;
    if (!isCoolingDown || now - this.#rejectingSince >= PAUSE_MS) this.#cooldownUntil = now + COOLDOWN_MS;
    return true;
  }
}
