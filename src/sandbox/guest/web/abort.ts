import { Event, EventTarget } from "event-target-shim";

const MAKE = Symbol("make");

/** The controller's access to a signal, which no other code may have. */
let makeSignal: () => { readonly signal: AbortSignal; readonly abort: (reason: unknown) => void };

function abortError(): unknown {
  return new DOMException("This operation was aborted", "AbortError");
}

/** By the DOM standard. Only a controller or one of the static methods can create one. */
export class AbortSignal extends EventTarget {
  #aborted = false;
  #reason: unknown;
  #onabort: ((event: Event) => void) | null = null;

  constructor(make?: unknown) {
    super();
    if (make !== MAKE) throw new TypeError("Illegal constructor");
  }

  static abort(reason: unknown = abortError()): AbortSignal {
    const signal = new AbortSignal(MAKE);
    signal.#aborted = true;
    signal.#reason = reason;
    return signal;
  }

  static timeout(ms: unknown): AbortSignal {
    const signal = new AbortSignal(MAKE);
    setTimeout(
      () => signal.#abort(new DOMException("The operation was aborted due to timeout", "TimeoutError")),
      Number(ms),
    );
    return signal;
  }

  static any(signals: Iterable<AbortSignal>): AbortSignal {
    const all = [...signals];
    const aborted = all.find((signal) => signal.aborted);
    if (aborted) return AbortSignal.abort(aborted.reason);
    const joined = new AbortSignal(MAKE);
    for (const signal of all) signal.addEventListener("abort", () => joined.#abort(signal.reason));
    return joined;
  }

  get aborted(): boolean {
    return this.#aborted;
  }

  get reason(): unknown {
    return this.#reason;
  }

  get onabort(): ((event: Event) => void) | null {
    return this.#onabort;
  }

  set onabort(listener: unknown) {
    if (this.#onabort) this.removeEventListener("abort", this.#onabort);
    this.#onabort = typeof listener === "function" ? (event) => void Reflect.apply(listener, this, [event]) : null;
    if (this.#onabort) this.addEventListener("abort", this.#onabort);
  }

  throwIfAborted(): void {
    if (this.#aborted) throw this.#reason;
  }

  get [Symbol.toStringTag](): string {
    return "AbortSignal";
  }

  #abort(reason: unknown): void {
    if (this.#aborted) return;
    this.#aborted = true;
    this.#reason = reason;
    this.dispatchEvent(new Event("abort"));
  }

  static {
    makeSignal = () => {
      const signal = new AbortSignal(MAKE);
      return { signal, abort: (reason) => signal.#abort(reason) };
    };
  }
}

export class AbortController {
  readonly #parts = makeSignal();

  get signal(): AbortSignal {
    return this.#parts.signal;
  }

  abort(reason: unknown = abortError()): void {
    this.#parts.abort(reason);
  }

  get [Symbol.toStringTag](): string {
    return "AbortController";
  }
}

export { Event, EventTarget };
