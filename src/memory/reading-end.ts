export interface ReadingEnd {
  /** Undefined while the body may be read. */
  readonly reason: unknown;
  /** Sets the one listener; undefined removes it. */
  listen(listener: ((reason: unknown) => void) | undefined): void;
}

export function endOnAbort(signal: AbortSignal): ReadingEnd {
  let remove: (() => void) | undefined;
  return {
    get reason() {
      return signal.aborted ? signal.reason : undefined;
    },
    listen(listener) {
      remove?.();
      remove = undefined;
      if (!listener) return;
      const abort = () => listener(signal.reason);
      signal.addEventListener("abort", abort, { once: true });
      remove = () => signal.removeEventListener("abort", abort);
    },
  };
}
