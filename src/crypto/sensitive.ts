import { inspect } from "node:util";

const REDACTED = "[redacted]";

/**
 * A value that must not be printed: every conversion to text gives "[redacted]". Only `crypto/` and the few places that
 * hand a value to an authorized recipient call {@link Sensitive.reveal}.
 */
export class Sensitive<T> {
  readonly #value: T;

  constructor(value: T) {
    this.#value = value;
  }

  reveal(): T {
    return this.#value;
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
