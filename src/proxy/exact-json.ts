import { isExact } from "../base/exact-number.js";
import type { Json } from "../base/json.js";
import { endOfJsonString } from "../base/json-string.js";

/** Numbers of 16 digits and more, or with an exponent: a double keeps the value of all others. */
const SUSPECT = /(?:^|[:,[\s])-?(?:[\d.]{16}|[\d.]+[eE])/;

const NUMBER = /-?\d[\d.eE+-]*/g;

/**
 * The numbers of a JSON text that a double cannot represent, such as ids of 64 bits. Code that changes a body sees and
 * returns their nearest doubles. Each is written with its original digits, wherever it ends up.
 */
export class ExactNumbers {
  /** The text of each such number by its double. Undefined if several texts have the same double. */
  readonly #texts: ReadonlyMap<number, string | undefined>;

  /** @param json must be valid. */
  constructor(json: string) {
    this.#texts = SUSPECT.test(json) ? inexactNumbers(json) : new Map();
  }

  /** Writes the value as JSON. Returns undefined if the digits of a number are ambiguous. */
  write(value: Json): string | undefined {
    if (this.#texts.size === 0) return JSON.stringify(value);
    // Code sees null for numbers beyond the range of doubles, and any null may then be one of them.
    let isAmbiguous = this.#texts.has(Number.POSITIVE_INFINITY) || this.#texts.has(Number.NEGATIVE_INFINITY);
    const text = JSON.stringify(value, (_, member: unknown) => {
      if (typeof member !== "number" || !this.#texts.has(member)) return member;
      const digits = this.#texts.get(member);
      if (digits === undefined) isAmbiguous = true;
      return digits === undefined ? member : JSON.rawJSON(digits);
    });
    return isAmbiguous ? undefined : text;
  }
}

function inexactNumbers(json: string): Map<number, string | undefined> {
  const texts = new Map<number, string | undefined>();
  for (const text of numbersIn(json)) {
    const double = Number(text);
    if (!isExact(text, double)) texts.set(double, text);
  }
  if (texts.size === 0) return texts;
  for (const text of numbersIn(json)) {
    const double = Number(text);
    if (texts.has(double) && texts.get(double) !== text) texts.set(double, undefined);
  }
  return texts;
}

/** The numbers of a JSON text, skipping its strings. */
function* numbersIn(json: string): Generator<string> {
  for (let at = 0; at < json.length; ) {
    const quote = json.indexOf('"', at);
    const end = quote < 0 ? json.length : quote;
    for (const [number] of json.slice(at, end).matchAll(NUMBER)) yield number;
    at = quote < 0 ? end : endOfJsonString(json, quote);
  }
}
