const CLOSE_TIMEOUT_MS = 5_000;

/** Counts calls, for a client that waits for them when it closes. */
export class CallsUnderWay {
  #count = 0;
  #onLast: (() => void) | undefined;

  begin(): void {
    this.#count += 1;
  }

  end(): void {
    this.#count -= 1;
    if (this.#count === 0) this.#onLast?.();
  }

  /** Waits until all calls have ended, for five seconds at most. */
  async settle(): Promise<void> {
    if (this.#count === 0) return;
    await new Promise<void>((resolve) => {
      // The timer keeps the program running: one that awaits this would otherwise end in the middle.
      const timer = setTimeout(resolve, CLOSE_TIMEOUT_MS);
      this.#onLast = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}
