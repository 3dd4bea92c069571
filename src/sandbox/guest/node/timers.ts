import type { Host } from "../host.js";

interface Pending {
  readonly callback: (...args: unknown[]) => void;
  readonly args: readonly unknown[];
  /** Interval in milliseconds; undefined for a one-time timer. */
  readonly every: number | undefined;
}

/** What `setTimeout` returns: an object, as in Node, that also passes for a number. */
export class Timeout {
  readonly #timers: Timers;
  readonly #number: number;

  constructor(timers: Timers, number: number) {
    this.#timers = timers;
    this.#number = number;
  }

  /** A run never waits for its timers, so ref and unref have no effect. */
  ref(): this {
    return this;
  }

  unref(): this {
    return this;
  }

  hasRef(): boolean {
    return this.#timers.isPending(this.#number);
  }

  close(): this {
    this.#timers.clear(this);
    return this;
  }

  [Symbol.toPrimitive](): number {
    return this.#number;
  }
}

/** `setTimeout` and its kin, over timers of the worker. Timers still set at the end of a run never fire. */
export class Timers {
  readonly #host: Host;
  readonly #pending = new Map<number, Pending>();
  #numbers = 0;
  #most = 0;

  constructor(host: Host) {
    this.#host = host;
  }

  /** Begins a run. @param most concurrent timers. */
  start(most: number): void {
    this.#pending.clear();
    this.#most = most;
  }

  set(callback: unknown, ms: unknown, args: readonly unknown[], repeat: boolean): Timeout {
    if (typeof callback !== "function") throw new TypeError('The "callback" argument must be of type function.');
    if (this.#pending.size >= this.#most) throw new RangeError(`More than ${this.#most} timers are set.`);
    const wait = Math.min(Math.max(Math.trunc(Number(ms)) || 1, 1), 2 ** 31 - 1);
    this.#numbers += 1;
    const run = (...given: unknown[]) => {
      callback(...given);
    };
    this.#pending.set(this.#numbers, { callback: run, args, every: repeat ? wait : undefined });
    this.#host.setTimer(this.#numbers, wait);
    return new Timeout(this, this.#numbers);
  }

  clear(timeout: unknown): void {
    if (timeout === undefined || timeout === null) return;
    const number = Number(timeout);
    if (this.#pending.delete(number)) this.#host.clearTimer(number);
  }

  isPending(number: number): boolean {
    return this.#pending.has(number);
  }

  /** Called when the worker's timer of this number is due. */
  fire(number: number): void {
    const pending = this.#pending.get(number);
    if (pending === undefined) return;
    if (pending.every === undefined) this.#pending.delete(number);
    else this.#host.setTimer(number, pending.every);
    pending.callback(...pending.args);
  }

  /** As globals, and as `require("timers")`. */
  functions() {
    return {
      setTimeout: (callback: unknown, ms?: unknown, ...args: unknown[]) => this.set(callback, ms, args, false),
      setInterval: (callback: unknown, ms?: unknown, ...args: unknown[]) => this.set(callback, ms, args, true),
      setImmediate: (callback: unknown, ...args: unknown[]) => this.set(callback, 0, args, false),
      clearTimeout: (timeout: unknown) => this.clear(timeout),
      clearInterval: (timeout: unknown) => this.clear(timeout),
      clearImmediate: (timeout: unknown) => this.clear(timeout),
    };
  }
}
