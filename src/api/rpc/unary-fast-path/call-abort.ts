/**
 * Ends a call before its response: its deadline passes, or its caller disconnects. The signal is created on first use:
 * most methods never use it, and an aborted controller costs 20 us.
 */
export class CallAbort {
  #reason: unknown;
  #controller: AbortController | undefined;
  #listener: ((reason: unknown) => void) | undefined;

  /** Undefined while the call is in progress. */
  get reason(): unknown {
    return this.#reason;
  }

  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    if (this.#reason !== undefined) this.#controller.abort(this.#reason);
    return this.#controller.signal;
  }

  end(reason: Error): void {
    if (this.#reason !== undefined) return;
    this.#reason = reason;
    this.#controller?.abort(reason);
    this.#listener?.(reason);
  }

  listen(listener: ((reason: unknown) => void) | undefined): void {
    this.#listener = listener;
  }
}
