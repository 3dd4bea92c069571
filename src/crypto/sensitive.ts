import { inspect, isDeepStrictEqual } from "node:util";

const REDACTED = "[redacted]";

/**
 * A value that must not be printed: every way to turn it into text says "[redacted]". Only the files that
 * docs/running-parts.md lists call {@link Sensitive.reveal}; `npm run check` enforces it.
 */
export class Sensitive<T> {
  readonly #value: T;

  constructor(value: T) {
    this.#value = value;
  }

  reveal(): T {
    return this.#value;
  }

  /** Whether both hold the same value. Not in constant time: never compare a guess of a caller. */
  equals(other: Sensitive<T>): boolean {
    return isDeepStrictEqual(this.#value, other.#value);
  }

  toString(): string {
    return REDACTED;
  }

  toJSON(): string {
    return REDACTED;
  }

  [Symbol.toPrimitive](): string {
    return REDACTED;
  }

  [inspect.custom](): string {
    return REDACTED;
  }
}
