import type { Json } from "../base/json.js";
import { Rejection, TOO_MUCH_WORK } from "./rejection.js";

/**
 * Units of work, each at most some 40 ns (measured with the most expensive filters): a character or element that a
 * filter reads, a property access, or a share of a fixed cost. Counted rather than timed, so the outcome of an
 * expression does not depend on the machine's load.
 */
export const WORK_LIMIT = 1_000_000;

/**
 * Limit of all results in characters of JSON: two bodies of the largest accepted size (5 MB). Larger objects count as
 * {@link WORK_LIMIT}, so the true total may be five times as much.
 */
export const OUTPUT_LIMIT = 10_000_000;

/**
 * A backstop for work that is priced too low, in processor time of the process: other load on the machine does not fail
 * an expression. Checked only after this much work, so never for small expressions.
 */
const TIME_LIMIT_US = 50_000;
const UNITS_BETWEEN_LOOKS = 20_000;

/**
 * The remaining cost that one request may spend on expressions. Expressions that belong together (a token's indexes, a
 * mask's expressions, a body's references) share one budget, so many small ones cost no more than one large one.
 */
export class Budget {
  readonly #limit: number;
  #work = 0;
  #output = 0;
  #nextLook = UNITS_BETWEEN_LOOKS;
  #busyUs = 0;
  #since: number | null = null;
  #exhausted = false;
  // Created on first use: most budgets never see an object, and weak tables are costly to create and collect.
  #sizes: WeakMap<object, number> | undefined;
  #keyCounts: WeakMap<object, number> | undefined;

  /** @param limit units of work. */
  constructor(limit = WORK_LIMIT) {
    this.#limit = limit;
  }

  /** Once true, every further evaluation under this budget is refused. */
  get exhausted(): boolean {
    return this.#exhausted;
  }

  /**
   * Runs `work` and counts its time against the limit. Time between two calls (a query, another request) does not
   * count.
   */
  timed<T>(work: () => T): T {
    this.#since = null;
    try {
      return work();
    } finally {
      if (this.#since !== null) this.#busyUs += processorTimeUs() - this.#since;
    }
  }

  /** Pays for upcoming work. Throws a rejection if it, or earlier work, exceeds the limit. */
  spend(units: number): void {
    this.account(units);
    if (this.#exhausted || this.#work > this.#limit) this.#refuse();
    if (this.#work < this.#nextLook) return;
    this.#nextLook = this.#work + UNITS_BETWEEN_LOOKS;
    this.#since ??= processorTimeUs();
    if (this.#busyUs + processorTimeUs() - this.#since > TIME_LIMIT_US) this.#refuse();
  }

  /** Records completed work; the next {@link spend} counts it. */
  account(units: number): void {
    this.#work += units;
  }

  /** Counts a result for the caller. The same object counts each time it is embedded. */
  produce(value: Json): void {
    this.#output += this.sizeOf(value);
    if (this.#output > OUTPUT_LIMIT) this.#refuse();
  }

  /** Approximate length of `value` as JSON. Measuring stops above the work limit. Objects are measured once. */
  sizeOf(value: unknown): number {
    if (typeof value === "string") return value.length + 2;
    if (typeof value !== "object" || value === null) return 8;
    if (value instanceof Uint8Array) return value.length;
    this.#sizes ??= new WeakMap();
    const known = this.#sizes.get(value);
    if (known !== undefined) return known;
    const size = this.#measure(value);
    this.#sizes.set(value, size);
    return size;
  }

  /** The number of keys of an object, counted once: counting lists all keys (50 ms for 400,000). */
  keyCount(value: object): number {
    this.#keyCounts ??= new WeakMap();
    const count = this.#keyCounts.get(value) ?? Object.keys(value).length;
    this.#keyCounts.set(value, count);
    return count;
  }

  #measure(value: object): number {
    let size = 2;
    if (Array.isArray(value)) {
      for (const item of value) {
        size += this.sizeOf(item) + 1;
        if (size > WORK_LIMIT) break;
      }
      return size;
    }
    for (const key of Object.keys(value)) {
      size += key.length + 4 + this.sizeOf(Reflect.get(value, key));
      if (size > WORK_LIMIT) break;
    }
    return size;
  }

  #refuse(): never {
    this.#exhausted = true;
    throw new Rejection(TOO_MUCH_WORK);
  }
}

function processorTimeUs(): number {
  const { user, system } = process.cpuUsage();
  return user + system;
}
