/** Waits after failures grow from the first to the last, in milliseconds. */
export interface BackoffDelays {
  readonly first: number;
  readonly most: number;
}

/** Consecutive failures of something outside of the vault, and when it is tried again. */
export class Backoff {
  readonly #waits: BackoffDelays;
  readonly #onState: (problem: string | undefined) => void;
  #count = 0;
  #restUntil = Number.NEGATIVE_INFINITY;

  /** @param onState called at the first failure, and with `undefined` at the success after it. */
  constructor(waits: BackoffDelays, onState: (problem: string | undefined) => void) {
    this.#waits = waits;
    this.#onState = onState;
  }

  get isResting(): boolean {
    return performance.now() < this.#restUntil;
  }

  succeeded(): void {
    if (this.#count > 0) this.#onState(undefined);
    this.#count = 0;
  }

  /**
   * Waits twice as long after each failure, with up to a quarter less.
   * @param waitMs what the other side asks for.
   */
  failed(problem: string, waitMs?: number): void {
    if (this.#count === 0) this.#onState(problem);
    const { first, most } = this.#waits;
    const wait = waitMs ?? first * 2 ** Math.min(this.#count, 10) * (0.75 + Math.random() / 4);
    this.#count += 1;
    this.#restUntil = performance.now() + Math.min(wait, most);
  }
}
