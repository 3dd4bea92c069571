/** Lets so many through at a time. The others wait for their turn, first come, first served. */
export class Turnstile {
  readonly #atOnce: number;
  readonly #mostWaiting: number;
  readonly #waiting: (() => void)[] = [];
  #inside = 0;

  constructor(atOnce: number, mostWaiting: number) {
    this.#atOnce = atOnce;
    this.#mostWaiting = mostWaiting;
  }

  /** Whether one more would be turned away. */
  get isFull(): boolean {
    return this.#waiting.length >= this.#mostWaiting;
  }

  async pass<T>(run: () => Promise<T>): Promise<T> {
    // Who leaves hands the place on: nobody who comes in between takes it.
    if (this.#inside < this.#atOnce) this.#inside += 1;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    try {
      return await run();
    } finally {
      const next = this.#waiting.shift();
      if (next) next();
      else this.#inside -= 1;
    }
  }
}
