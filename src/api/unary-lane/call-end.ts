/**
 * What may end a call before its answer: its deadline, or its caller who leaves. The signal is made when it is first asked for:
 * most methods never do, and an aborted controller costs 20 us.
 */
export class CallEnd {
  #reason: unknown;
  #controller: AbortController | undefined;
  #listener: ((reason: unknown) => void) | undefined;

  /** Undefined while the call goes on. */
  get reason(): unknown {
    return this.#reason;
  }

  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    if (this.#reason !== undefined) this.#controller.abort(this.#reason);
    return this.#controller.signal;
  }

  /** Ends the call, unless something has already. */
  end(reason: Error): void {
    if (this.#reason !== undefined) return;
    this.#reason = reason;
    this.#controller?.abort(reason);
    this.#listener?.(reason);
  }

  /** The one that is told of the end; undefined: nobody any more. */
  listen(listener: ((reason: unknown) => void) | undefined): void {
    this.#listener = listener;
  }
}
