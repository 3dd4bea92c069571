import { binLength, readCardNumber } from "./card-number.js";
import type { Reading } from "./entry-kind.js";
import type { Settling } from "./settling.js";

/** An entry that grows by so many digits at once was pasted or filled in: no page has seen it grow. */
const WHOLE_DIGITS = 8;
const LAST_DIGITS = 4;

/** What a page may see of a card number. */
export interface ShownDigits {
  readonly bin: string;
  readonly last4: string;
}

/**
 * A card number while a person types it, and what the page learns of it meanwhile. Each beginning of a number that passed
 * for a whole one would show its own last four digits, so all of it: one end is shown, and no other until the person has
 * emptied the field.
 */
export class NumberProgress {
  readonly #settling: Settling;
  /** Numbers of which the page knows the end. */
  readonly #known = new Set<string>();
  #number = readCardNumber("");
  #shown: string | undefined;

  constructor(settling: Settling) {
    this.#settling = settling;
  }

  /** @param isByPerson false for a call of the page, which must not make the field forget. */
  changed(digits: string, isByPerson: boolean): void {
    const same = commonLength(this.#number.digits, digits);
    this.#number = readCardNumber(digits);
    if (digits === "" && isByPerson) this.#known.clear();
    this.#settling.changed(digits === "" || digits.length - same >= WHOLE_DIGITS);
  }

  read(): Reading {
    const { digits, brand, codeLengths, isValid, isFull, mayGoOn } = this.#number;
    const known = { brand, codeLengths, isFull: false };
    if (digits === "") return known;
    const isOpen = mayGoOn && !this.#settling.isSettled;
    if (isOpen) return { ...known, problem: "incomplete", isOpen, looksComplete: isValid };
    // 16 digits are usually all, even of brands that allow 19: a wrong number is then invalid, not incomplete.
    if (!isValid) return { ...known, problem: isFull || digits.length === 16 ? "invalid" : "incomplete" };
    if (this.#wouldShowMore()) return { ...known, problem: "retype" };
    return { ...known, isFull: isFull && brand !== undefined, value: digits };
  }

  /** The person is not in the field: the page may see the ends of the number. */
  show(): void {
    if (this.read().value === undefined) return;
    this.#shown = this.#number.digits;
    this.#known.add(this.#number.digits);
  }

  get shown(): ShownDigits | undefined {
    const { digits } = this.#number;
    if (digits !== this.#shown || this.read().value === undefined) return undefined;
    return { bin: digits.slice(0, binLength(digits)), last4: digits.slice(-LAST_DIGITS) };
  }

  /** The number is sent: the response shows its end. */
  given(): void {
    if (this.read().value !== undefined) this.#known.add(this.#number.digits);
  }

  /** Whether the end of this number, and one that the page knows, lie at different places of one number. */
  #wouldShowMore(): boolean {
    const { digits } = this.#number;
    return [...this.#known].some((other) => {
      const shorter = Math.min(digits.length, other.length);
      return digits.length !== other.length && commonLength(digits, other) > shorter - LAST_DIGITS;
    });
  }
}

function commonLength(one: string, other: string): number {
  let length = 0;
  while (length < one.length && one[length] === other[length]) length += 1;
  return length;
}
