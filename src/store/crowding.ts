/**
 * Most requests of one tenant in flight while the tenant is overloaded: at some 3,000 served a second, an admitted
 * request waits some 50 ms.
 */
export const MOST_UNDER_WAY = 160;

/** Milliseconds for which there may be more. A burst of any size is served, not turned away. */
const BURST_MS = 1_000;

/** Milliseconds after the last rejected request in which the next burst gets no such time. */
const MEMORY_MS = 5_000;

/**
 * A pause of this many milliseconds without a rejection ends a spell of rejections. A spell that ends within as many
 * milliseconds is forgotten: a process that pauses for 50 ms finds 160 requests waiting at half of its capacity.
 */
const SPELL_MS = 250;

/**
 * Distinguishes a burst from sustained overload. Under overload it turns requests away before any part of them is read,
 * which keeps the admitted ones fast. Otherwise the queue would grow until every request waits for seconds.
 */
export class Crowding {
  #since: number | undefined;
  #rememberedUntil = 0;
  #spellSince = 0;
  #lastRefusal = Number.NEGATIVE_INFINITY;

  isRemembered(now: number): boolean {
    return now < this.#rememberedUntil;
  }

  /** @param now in milliseconds, never decreasing. */
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
