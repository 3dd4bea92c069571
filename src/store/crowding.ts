/**
 * Requests of one tenant that may be under way at once when more come than are served: with some 3,000 served a second,
 * one that is let in then waits some 50 ms.
 */
export const MOST_UNDER_WAY = 160;

/** Milliseconds for which more may be: a burst is served, however large, and not turned away. */
const BURST_MS = 1_000;

/** Milliseconds after the last request that was too many, in which the next burst is not waited for. */
const MEMORY_MS = 5_000;

/**
 * Tells a burst from more requests than can be served. Those are turned away before anything of them is read, so that what
 * is let in is answered in time: the queue would else grow until every request waits for seconds.
 */
export class Crowding {
  #since: number | undefined;
  #rememberedUntil = 0;

  isRemembered(now: number): boolean {
    return now < this.#rememberedUntil;
  }

  /** @param now milliseconds that only grow. */
  isTooMany(underWay: number, now: number): boolean {
    if (underWay < MOST_UNDER_WAY) {
      this.#since = undefined;
      return false;
    }
    this.#since ??= now;
    const isOver = this.isRemembered(now) || now - this.#since > BURST_MS;
    if (isOver) this.#rememberedUntil = now + MEMORY_MS;
    return isOver;
  }
}
