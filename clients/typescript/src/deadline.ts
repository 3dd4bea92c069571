import { misuse } from "./options.js";
import type { CallEnd } from "./transport.js";

/** The time of one call, with all its attempts, and the caller's own signal. {@link end} must be called. */
export class Deadline implements CallEnd {
  // Plain listeners: an AbortController and its listeners take several microseconds, and gRPC calls need no signal.
  readonly #listeners = new Set<() => void>();
  readonly #endsAt: number;
  readonly #timer: ReturnType<typeof setTimeout> | undefined;
  readonly #callers: AbortSignal | undefined;
  readonly #cancel = () => this.#stop("canceled");
  #ended: "timeout" | "canceled" | undefined;

  /** @param timeout see {@link checkTimeout}. */
  constructor(timeout: number, callers: AbortSignal | undefined) {
    checkTimeout(timeout);
    this.#endsAt = performance.now() + (timeout || Number.POSITIVE_INFINITY);
    if (timeout) this.#timer = setTimeout(() => this.#stop("timeout"), timeout);
    this.#callers = callers;
    if (callers?.aborted) this.#cancel();
    callers?.addEventListener("abort", this.#cancel);
  }

  get ended(): "timeout" | "canceled" | undefined {
    return this.#ended;
  }

  get signal(): AbortSignal {
    const controller = new AbortController();
    if (this.#ended) controller.abort();
    this.onEnd(() => controller.abort());
    return controller.signal;
  }

  /** Infinity where the call has no end. */
  get leftMs(): number {
    return Math.max(1, Math.ceil(this.#endsAt - performance.now()));
  }

  onEnd(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Waits, but not longer than the call lasts. */
  async sleep(ms: number): Promise<void> {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const pause = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, ms);
    });
    await this.orEnd(pause).catch(() => clearTimeout(timer));
  }

  orEnd<T>(value: T | Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const fail = () => reject(new Error("the call has ended"));
      if (this.#ended) fail();
      const off = this.onEnd(fail);
      Promise.resolve(value).then(resolve, reject).finally(off);
    });
  }

  /** Removes the timer and the listener: the caller's signal may live as long as the program. */
  end(): void {
    clearTimeout(this.#timer);
    this.#callers?.removeEventListener("abort", this.#cancel);
  }

  #stop(reason: "timeout" | "canceled"): void {
    this.#ended ??= reason;
    for (const listener of this.#listeners) listener();
  }
}

/**
 * @param timeout in milliseconds; 0 sets no limit. NaN would set none either, and timers of more than 31 bits fire at once.
 * @throws {CloakroomError} for any other number.
 */
export function checkTimeout(timeout: number): void {
  if (!(Math.abs(timeout) === timeout && timeout < 2 ** 31))
    throw misuse("timeout must be 0 (no limit) to 2147483647 ms.");
}
