import { processorTurns } from "../../base/caller-turns.js";

export class DispatchTimers {
  readonly #dispatch: () => void;
  readonly #collects: boolean;
  #isSoon = false;
  #later: { readonly at: number; readonly timeout: NodeJS.Timeout } | undefined;

  /** @param collects whether requests that arrive at about the same time share transactions. */
  constructor(dispatch: () => void, collects: boolean) {
    this.#dispatch = dispatch;
    this.#collects = collects;
  }

  /**
   * Every request that arrives in this turn of the event loop or the next one joins. The requests that an HTTP/2
   * connection brings come in several turns: with the second turn, 22 of 32 share a transaction instead of 13.
   */
  soon(): void {
    if (this.#isSoon) return;
    this.#isSoon = true;
    const dispatch = () => {
      this.#isSoon = false;
      this.#dispatch();
    };
    // While callers wait for turns, the queue waits for those of its own: see `TenantQueue.isWorthATransaction`.
    if (processorTurns.waiting > 0) processorTurns.afterwards(dispatch);
    else setImmediate(this.#collects ? () => setImmediate(dispatch) : dispatch);
  }

  /** After so many milliseconds, where no other event may come. */
  later(milliseconds: number): void {
    const at = performance.now() + milliseconds;
    if (this.#later && this.#later.at <= at) return;
    this.stop();
    const timeout = setTimeout(() => {
      this.#later = undefined;
      this.soon();
    }, milliseconds);
    this.#later = { at, timeout };
  }

  stop(): void {
    clearTimeout(this.#later?.timeout);
    this.#later = undefined;
  }
}
