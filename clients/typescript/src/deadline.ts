/** The time of one call, with all its attempts, and the caller's own signal. {@link end} must be called. */
export class Deadline {
  readonly #controller = new AbortController();
  readonly #endsAt: number;
  readonly #timer: ReturnType<typeof setTimeout> | undefined;
  readonly #callers: AbortSignal | undefined;
  readonly #cancel = () => this.#stop("canceled");
  #ended: "timeout" | "canceled" | undefined;

  /** @param timeout in milliseconds; 0 sets no limit. */
  constructor(timeout: number, callers: AbortSignal | undefined) {
    this.#endsAt = timeout > 0 ? performance.now() + timeout : Number.POSITIVE_INFINITY;
    // Timers of more than 31 bits fire at once.
    if (timeout > 0) this.#timer = setTimeout(() => this.#stop("timeout"), Math.min(timeout, 2 ** 31 - 1));
    this.#callers = callers;
    if (callers?.aborted) this.#cancel();
    callers?.addEventListener("abort", this.#cancel);
  }

  /** Why the call must end; undefined while it may go on. */
  get ended(): "timeout" | "canceled" | undefined {
    return this.#ended;
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Infinity where the call has no end. */
  get leftMs(): number {
    return Math.max(1, Math.ceil(this.#endsAt - performance.now()));
  }

  /** Waits, or less where the call ends before. */
  async sleep(ms: number): Promise<void> {
    if (this.#ended) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.signal.addEventListener("abort", () => {
        clearTimeout(timer);
        resolve();
      });
    });
  }

  /** Waits for something that knows nothing of the call's end. */
  orEnd<T>(value: T | Promise<T>): Promise<T> {
    const end = new Promise<never>((_, reject) => {
      this.signal.addEventListener("abort", () => reject(new Error("the call has ended")));
    });
    return Promise.race([value, end]);
  }

  /** A signal may live as long as the program: it keeps nothing of the call. */
  end(): void {
    clearTimeout(this.#timer);
    this.#callers?.removeEventListener("abort", this.#cancel);
  }

  #stop(reason: "timeout" | "canceled"): void {
    this.#ended ??= reason;
    this.#controller.abort();
  }
}
