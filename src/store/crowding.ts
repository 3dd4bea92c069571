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
 * Milliseconds: turning away counts as one spell while no more pass in between. One that ends within as many is forgotten: a
 * process that pauses for 50 ms finds 160 requests waiting at half of what it serves.
 */
const SPELL_MS = 250;

/**
 * Tells a burst from more requests than can be served. Those are turned away before anything of them is read, so that what
 * is let in is answered in time: the queue would else grow until every request waits for seconds.
 */
export class Crowding {
  #since: number | undefined;
  #rememberedUntil = 0;
  #spellSince = 0;
  #lastRefusal = Number.NEGATIVE_INFINITY;

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
    const isRemembered = this.isRemembered(now);
    if (!isRemembered && now - this.#since <= BURST_MS) return false;
    if (now - this.#lastRefusal > SPELL_MS) this.#spellSince = now;
    this.#lastRefusal = now;
    if (!isRemembered || now - this.#spellSince >= SPELL_MS) this.#rememberedUntil = now + MEMORY_MS;
    return true;
  }
}
