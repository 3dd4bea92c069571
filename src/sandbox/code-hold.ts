import type { HoldLimits } from "./options.js";

/** Most pieces of code that are kept in mind. */
const MOST_ENTRIES = 10_000;

/** Code that cost threads, and may not run for a while once it cost too many. */
export class CodeHold {
  readonly #limits: HoldLimits;
  readonly #now: () => number;
  readonly #kills = new Map<string, number[]>();

  /** @param now milliseconds on a clock that never goes back. */
  constructor(limits: HoldLimits, now: () => number) {
    this.#limits = limits;
    this.#now = now;
  }

  isHeld(key: string): boolean {
    return this.#recent(key).length >= this.#limits.kills;
  }

  /** @returns whether the code is held from now on. */
  add(key: string): boolean {
    const recent = [...this.#recent(key), this.#now()];
    this.#kills.delete(key);
    this.#kills.set(key, recent);
    for (const oldest of this.#kills.keys()) {
      if (this.#kills.size <= MOST_ENTRIES) break;
      this.#kills.delete(oldest);
    }
    return recent.length >= this.#limits.kills;
  }

  #recent(key: string): number[] {
    const since = this.#now() - this.#limits.ms;
    return (this.#kills.get(key) ?? []).filter((time) => time > since);
  }
}
