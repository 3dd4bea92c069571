import type { Json } from "../base/json.js";
import { beginsLikeCard, hiddenStretch, isNetworkNumber, MAX_CARD_DIGITS, MIN_CARD_DIGITS } from "./card-digits.js";
import { asciiDigits, digitChains } from "./digit-chains.js";
import type { DrawBelow } from "./random.js";

/** Texts and numbers longer than a group of a card number, with separators, are no piece of one. */
const MAX_PIECE = 8;
const MAX_TEXT = 20;

/** The digits of each item that has nothing else, and of all of them in a row. */
class Pieces {
  readonly each: readonly (string | undefined)[];
  readonly #all: string;
  /** Where each begins in the row, and the last ends. */
  readonly #offsets: readonly number[];

  constructor(items: readonly Json[]) {
    this.each = items.map((item) => {
      if (typeof item === "number") return Number.isSafeInteger(item) && item >= 0 ? digitsOf(String(item)) : undefined;
      return typeof item === "string" && item.length <= MAX_TEXT ? digitsOf(item) : undefined;
    });
    this.#all = this.each.join("");
    let offset = 0;
    this.#offsets = [0, ...this.each.map((piece) => (offset += piece?.length ?? 0))];
  }

  lengthOf(index: number): number {
    return this.each[index]?.length ?? 0;
  }

  piecedNumber({ first, last }: Window): string {
    return this.#all.slice(this.#offsets[first], this.#offsets[last + 1]);
  }
}

function digitsOf(text: string): string | undefined {
  if (/^\d+$/.test(text)) return text.length <= MAX_PIECE ? text : undefined;
  if (/[\p{L}]/u.test(text)) return undefined;
  const [chain, ...others] = digitChains(text);
  return chain && others.length === 0 && chain.length <= MAX_PIECE ? asciiDigits(chain) : undefined;
}

/** Neighbouring items. */
interface Window {
  readonly first: number;
  readonly last: number;
}

/**
 * Neighbouring items that together are as long as a card number, and grouped as those are: in equal groups, of which the
 * last may be shorter, or as 4, 6, and 4 or 5 digits.
 */
function* windows(pieces: Pieces): Generator<Window> {
  for (const first of pieces.each.keys()) {
    const group = pieces.lengthOf(first);
    // Longer groups are halves of a number.
    const most = group <= 4 ? MAX_CARD_DIGITS : 2;
    let digits = group;
    for (let last = first + 1; last < first + most; last += 1) {
      const length = pieces.lengthOf(last);
      digits += length;
      if (group === 0 || length === 0 || digits > MAX_CARD_DIGITS) break;
      if (length <= group && digits >= MIN_CARD_DIGITS) yield { first, last };
      if (length === group) continue;
      const ending = pieces.lengthOf(last + 1);
      const isMiddle = group === 4 && length === 6 && last === first + 1;
      if (isMiddle && (ending === 4 || ending === 5)) yield { first, last: last + 1 };
      break;
    }
  }
}

/**
 * Items of any lengths that together are a card number by network and check digit, from first to last or from last to
 * first, with no other item of digits beside them. Every card number passes one way, so this depends on no hidden digit.
 */
function* dividedNumbers(pieces: Pieces): Generator<Window> {
  for (let first = 0; first < pieces.each.length; first += 1) {
    let last = first;
    while (pieces.lengthOf(last) > 0) last += 1;
    last -= 1;
    if (last > first && bothWays(pieces, { first, last }).some(isNetworkNumber)) yield { first, last };
    first = Math.max(first, last);
  }
}

function bothWays(pieces: Pieces, window: Window): string[] {
  const number = pieces.piecedNumber(window);
  // Most rows are longer than card numbers.
  if (number.length > MAX_CARD_DIGITS) return [number];
  const parts = pieces.each.slice(window.first, window.last + 1);
  return [number, parts.toReversed().join("")];
}

/** The card numbers that neighbouring items have together. */
export function* findDividedNumbers(items: readonly Json[]): Generator<string> {
  if (items.length < 2) return;
  const pieces = new Pieces(items);
  for (const window of dividedNumbers(pieces)) yield* bothWays(pieces, window).filter(isNetworkNumber);
  for (const window of windows(pieces)) {
    const number = pieces.piecedNumber(window);
    if (isNetworkNumber(number)) yield number;
  }
}

/** Whether neighbouring items together are a card number, by its check digit. */
export function hasPiecedCardNumber(items: readonly Json[]): boolean {
  return !findDividedNumbers(items).next().done;
}

/**
 * Replaces the hidden digits of a card number that is spread over neighbouring items (`4242`, `4242`, `4242`, `4242`) by
 * random ones. Like {@link hiddenDigits} it looks at lengths, and at the first digits of the number.
 * @param items of data that has a card number somewhere: a check digit decides that, which every card number passes.
 * @param concealed the items, of which some were replaced already.
 */
export function concealPieces(items: readonly Json[], concealed: Json[], draw: DrawBelow): Json[] {
  if (items.length < 2) return concealed;
  const pieces = new Pieces(items);
  const hidden = new Uint8Array(items.length);
  for (const window of windows(pieces)) {
    // Where the first digits are hidden themselves, they must not decide.
    const areHidden = hidden[window.first] !== 0;
    if (areHidden || beginsLikeCard(pieces.piecedNumber(window))) hideWithin(pieces, window, hidden);
  }
  // Both ways: which of them is a card number may depend on hidden digits.
  for (const window of dividedNumbers(pieces)) {
    hideWithin(pieces, window, hidden);
    hideWithin(pieces, window, hidden, true);
  }
  return concealed.map((item, index) => redrawn(item, hidden[index] ?? 0, draw));
}

/** @param hidden of each piece, with a bit for each digit. */
function hideWithin(pieces: Pieces, window: Window, hidden: Uint8Array, isBackwards = false): void {
  const { first, last } = window;
  const { start, end } = hiddenStretch(pieces.piecedNumber(window).length);
  let at = 0;
  for (let index = first; index <= last; index += 1) {
    const piece = isBackwards ? last - (index - first) : index;
    for (let digit = 0; digit < pieces.lengthOf(piece); digit += 1, at += 1) {
      if (at >= start && at < end) hidden[piece] = (hidden[piece] ?? 0) | (1 << digit);
    }
  }
}

function redrawn(item: Json, hidden: number, draw: DrawBelow): Json {
  if (hidden === 0 || (typeof item !== "string" && typeof item !== "number")) return item;
  let digit = -1;
  let text = "";
  for (const character of String(item)) {
    const isDigit = isAsciiDigit(character) || /\p{Nd}/u.test(character);
    if (isDigit) digit += 1;
    text += isDigit && (hidden & (1 << digit)) !== 0 ? String(draw(10)) : character;
  }
  return typeof item === "number" ? Number(text.replace(/^0/, "9")) : text;
}

function isAsciiDigit(character: string): boolean {
  return character >= "0" && character <= "9";
}
