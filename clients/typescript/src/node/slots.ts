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

  /** Waits for a place. False where the signal came first; no place is taken then. */
  async take(signal: AbortSignal): Promise<boolean> {
    if (signal.aborted) return false;
    if (this.#taken < this.#limit && this.#waiting.size === 0) {
      this.#taken += 1;
      return true;
    }
    return new Promise((resolve) => {
      const leave = () => {
        this.#waiting.delete(enter);
        resolve(false);
      };
      const enter = () => {
        signal.removeEventListener("abort", leave);
        resolve(true);
      };
      this.#waiting.add(enter);
      signal.addEventListener("abort", leave);
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
