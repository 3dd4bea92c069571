/**
 * Gives Node 22 the global AsyncDisposableStack that Node 24 has: the one thing that the program takes from it beyond
 * syntax, which the bundle lowers (scripts/bundle-program.js). Import it before any code that opens resources.
 */

type End = () => PromiseLike<void> | void;

/** The part of the standard's class that this program uses. */
class Stack {
  #ends: End[] = [];

  use<T extends AsyncDisposable | Disposable | null | undefined>(resource: T): T {
    if (resource) {
      this.#ends.push(() =>
        Symbol.asyncDispose in resource ? resource[Symbol.asyncDispose]() : resource[Symbol.dispose](),
      );
    }
    return resource;
  }

  adopt<T>(value: T, end: (value: T) => PromiseLike<void> | void): T {
    this.#ends.push(() => end(value));
    return value;
  }

  defer(end: End): void {
    this.#ends.push(end);
  }

  move(): Stack {
    const moved = new Stack();
    moved.#ends = this.#ends;
    this.#ends = [];
    return moved;
  }

  /** Ends all resources, the last one first. Every one is tried; the first error is thrown. */
  async disposeAsync(): Promise<void> {
    const errors: unknown[] = [];
    for (let end = this.#ends.pop(); end; end = this.#ends.pop()) {
      try {
        await end();
      } catch (error) {
        errors.push(error);
      }
    }
    if (errors.length > 0) throw errors[0];
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.disposeAsync();
  }
}

if (!("AsyncDisposableStack" in globalThis)) Object.assign(globalThis, { AsyncDisposableStack: Stack });

export { Stack as AsyncDisposableStackForNode22 };
