import { hiddenStretch } from "./card-digits.js";
import { allDigits } from "./digit-chains.js";

/** As many hidden digits as tell a card number from an alias that repeats some of them by chance. */
const TELLING = 4;
/** The digits of a UUID have a part of this length in common with a card number in one of 100 million cases. */
const WINDOW = 10;
/** More digits than BIN and last four have together. */
const LONG_WINDOW = 13;
/** How else a number can be written: hexadecimal, base 32 and base 36. */
const RADIXES = [16, 32, 36];
const MIN_ENCODED = 12;

/**
 * The digits of an id in every form that is compared with card numbers: whatever is between them, also in a UUID; behind
 * base64, base64url or hexadecimal; and backwards. So many digits are the same by chance more often than those of a chain:
 * only longer parts of a card number tell.
 */
export class Readings {
  readonly #id: string;
  readonly #digits: readonly string[];
  readonly #parts: ReadonlySet<string>;

  constructor(id: string) {
    this.#id = id.toLowerCase();
    const forward = [id, ...decodings(id)].map(allDigits).filter(({ length }) => length >= WINDOW);
    this.#digits = forward.flatMap((digits) => [digits, backwards(digits)]);
    this.#parts = new Set(
      this.#digits.flatMap((digits) => [...partsOfLength(digits, WINDOW), ...partsOfLength(digits, LONG_WINDOW)]),
    );
  }

  /** Whether one of them has hidden digits of a card number, with digits beside them. */
  tell(number: string): boolean {
    const { start, end } = hiddenStretch(number.length);
    const [bin, last] = [number.slice(0, start), number.slice(end)];
    const isShown = (part: string) => `${bin}${last}${bin}`.includes(part);
    const telling = findTellingParts(number, WINDOW).filter((part) => !isShown(part));
    const parts = [...telling, ...partsOfLength(number, LONG_WINDOW)];
    return parts.some((part) => this.#parts.has(part)) || this.#isInRadix(number);
  }

  /** Whether one of them has a whole number. */
  hold(number: string): boolean {
    return this.#digits.some((digits) => digits.includes(number)) || this.#isInRadix(number);
  }

  #isInRadix(number: string): boolean {
    return RADIXES.some((radix) => this.#id.includes(BigInt(number).toString(radix)));
  }
}

/** The parts of a card number of some length that have {@link TELLING} of its hidden digits, or all if it has fewer. */
export function findTellingParts(number: string, length: number): string[] {
  const { start, end } = hiddenStretch(number.length);
  const telling = Math.min(TELLING, end - start);
  return partsOfLength(number, length).filter((_, at) => Math.min(at + length, end) - Math.max(at, start) >= telling);
}

/** What runs of an id decode to. What is before the encoded text moves its beginning by up to three characters. */
function decodings(id: string): string[] {
  const decoded: string[] = [];
  for (const [run] of id.matchAll(/[\w-]+/g)) {
    if (run.length < MIN_ENCODED) continue;
    for (let at = 0; at < 4; at += 1) decoded.push(Buffer.from(run.slice(at), "base64url").toString("latin1"));
  }
  for (const [run] of id.matchAll(/[\da-f]+/gi)) {
    if (run.length < 2 * MIN_ENCODED) continue;
    for (let at = 0; at < 2; at += 1) decoded.push(Buffer.from(run.slice(at), "hex").toString("latin1"));
  }
  return decoded;
}

function backwards(digits: string): string {
  return [...digits].reverse().join("");
}

export function partsOfLength(digits: string, length: number): string[] {
  return Array.from({ length: Math.max(0, digits.length - length + 1) }, (_, at) => digits.slice(at, at + length));
}
