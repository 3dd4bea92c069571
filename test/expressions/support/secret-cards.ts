import fc from "fast-check";
import type { Json } from "../../../src/base/json.js";
import { passesLuhn } from "../../../src/base/luhn.js";
import { binLength } from "../../../src/expressions/bin-length.js";
import type { DrawBelow } from "../../../src/expressions/random.js";

/** A card number and its verification code. */
export interface SecretCard {
  readonly number: string;
  readonly code: string;
}

/** Two cards that differ in hidden digits and code only. */
export interface CardPair {
  readonly one: SecretCard;
  readonly other: SecretCard;
}

const digits = (length: number) => fc.stringMatching(new RegExp(`^\\d{${length}}$`));

/** All card numbers with these ends have this length, and pass the check. */
function cardWith(bin: string, hidden: string, last: string): string {
  for (let first = 0; first < 10; first += 1) {
    const number = `${bin}${first}${hidden.slice(1)}${last}`;
    if (passesLuhn(number)) return number;
  }
  throw new Error("one of ten digits passes Luhn's check");
}

/** Numbers in pieces are found by the first digits of networks: four years in a row are no number. */
const hasNetwork = ({ one: { number } }: CardPair) => /^(?:[3-6]|2[2-7])/.test(number);

const anyPairs: fc.Arbitrary<CardPair> = fc.integer({ min: 13, max: 19 }).chain((length) => {
  const bin = fc.tuple(fc.constantFrom("4", "5", "3", "6", "2", "9", "1"), digits(binLength(length) - 1));
  const hidden = digits(length - binLength(length) - 4);
  const codes = fc.constantFrom(3, 4).chain((size) => fc.tuple(digits(size), digits(size)));
  return fc
    .tuple(bin, hidden, hidden, digits(4), codes)
    .map(([start, mine, theirs, last, [code, otherCode]]): CardPair => {
      const card = (middle: string) => cardWith(start.join(""), middle, last);
      return { one: { number: card(mine), code }, other: { number: card(theirs), code: otherCode } };
    });
});

export function cardPairsFor(shapeName: string): fc.Arbitrary<CardPair> {
  return PIECED.includes(shapeName) ? anyPairs.filter(hasNetwork) : anyPairs;
}

const PIECED = ["pieces", "pieces in fields", "digits", "odd pieces", "odd pieces backwards"];

const inGroups = (text: string, separator: string) => (text.match(/.{1,4}/g) ?? []).join(separator);
const inArabic = (text: string) => text.replace(/\d/g, (digit) => String.fromCodePoint(0x660 + Number(digit)));
/** As a JSON number, where it keeps all digits. */
const asNumber = (text: string): Json =>
  text.startsWith("0") || !Number.isSafeInteger(Number(text)) ? text : Number(text);

const inOddPieces = (text: string) => ({
  ...{ p1: text.slice(0, 5), p2: text.slice(5, 7), p3: text.slice(7, 12), p4: text.slice(12) },
});

/** Data of any shape that has a card. Two cards in one shape make data that differs in what is secret only. */
export const SHAPES: readonly (readonly [name: string, shape: (card: SecretCard) => Json])[] = [
  ["the number", ({ number }) => number],
  ["the number as a number", ({ number }) => asNumber(number)],
  ["number and code", ({ number, code }) => ({ n: number, c: code })],
  ["number and code as numbers", ({ number, code }) => ({ n: asNumber(number), c: asNumber(code) })],
  ["a card", ({ number }) => ({ number, expiration_month: 12, expiration_year: 2030 })],
  ["a card with its code", ({ number, code }) => ({ number, expiration_year: 2030, cvc: code })],
  ["a code alone", ({ code }) => ({ card: { security_code: code, cvv: asNumber(code) }, x: "abc" })],
  ["blanks in it", ({ number, code }) => ({ n: inGroups(number, " "), c: ` ${code} ` })],
  [
    "separators in it",
    ({ number, code }) => ({ n: inGroups(number, "-"), m: inGroups(number, ". "), c: [...code].join(" ") }),
  ],
  ["a longer text", ({ number, code }) => ({ x: `Card ${number}, code ${code}, thanks`, n: "Ada" })],
  ["another script", ({ number, code }) => ({ n: inArabic(number), c: inArabic(code) })],
  ["JSON in a text", ({ number, code }) => ({ x: JSON.stringify({ number, cvc: code }) })],
  ["depth", ({ number, code }) => ({ a: [[{ n: number }], { x: { c: [code] } }], n: "Ada" })],
  ["a list", ({ number, code }) => [number, code, "Ada", number]],
  ["the names of fields", ({ number, code }) => ({ [number]: "a", [`x${number}`]: { c: code } })],
  ["pieces", ({ number }) => ({ a: number.match(/.{1,4}/g) ?? [], x: "Ada" })],
  [
    "pieces in fields",
    ({ number }) => Object.fromEntries((number.match(/.{1,4}/g) ?? []).map((text, at) => [`p${at}`, text])),
  ],
  ["odd pieces", ({ number }) => ({ ...inOddPieces(number), x: "Ada" })],
  ["odd pieces backwards", ({ number }) => ({ a: Object.values(inOddPieces(number)).reverse(), x: "Ada" })],
  ["digits", ({ number }) => ({ n: [...number].map(Number) })],
];

/** The same numbers for each seed (mulberry32). */
export function seededDraw(seed: number): DrawBelow {
  let state = seed | 0;
  return (limit) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % limit;
  };
}
