import type { CallEnd } from "../transport.js";

/** Takers wait in turn for one of a number of places, which may change. */
export class Slots {
  readonly #waiting = new Set<() => void>();
  #limit: number;
  #taken = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  get isIdle(): boolean {
    return this.#taken === 0;
  }

  set limit(limit: number) {
    this.#limit = Math.max(1, limit);
    this.#admit();
  }

  /** Takes a place where one is free. */
  tryTake(): boolean {
    const isFree = this.#taken < this.#limit && this.#waiting.size === 0;
    if (isFree) this.#taken += 1;
    return isFree;
  }

  /** Waits for a place. False where the call ended first; no place is taken then. */
  take(end: CallEnd): Promise<boolean> {
    return new Promise((resolve) => {
      const enter = () => {
        off();
        resolve(true);
      };
      const off = end.onEnd(() => {
        this.#waiting.delete(enter);
        resolve(false);
      });
      this.#waiting.add(enter);
    });
  }

  free(): void {
    this.#taken -= 1;
    this.#admit();
  }

  #admit(): void {
    for (const enter of this.#waiting) {
      if (this.#taken >= this.#limit) return;
      this.#waiting.delete(enter);
      this.#taken += 1;
      enter();
    }
  }
}
