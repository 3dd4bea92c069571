import { isJsonObject, type Json } from "../base/json.js";
import { passesLuhn } from "../base/luhn.js";
import type { Budget } from "./budget.js";
import { beginsLikeCard, hiddenStretch, isCardLength, isNetworkNumber, MIN_CARD_DIGITS } from "./card-digits.js";
import { asciiDigits, digitChains } from "./digit-chains.js";

/** Digits of the data that an id is compared with. */
const MAX_COMPARED = 1_000;
/** A number is composed of few parts of the data: random digits would match single ones only. */
const MAX_PARTS = 5;
/** A comparison takes some 4 us (measured). */
const UNITS_PER_COMPARISON = 100;

/**
 * Whether the result of an id expression has a card number: one with the first digits of a network; one with BIN and last
 * four of a number in the data, which may be that number; or one that the expression composed of parts of the data.
 * @param data as the expression saw it. The result gives away nothing more of it then.
 */
export function hasCardNumber(id: string, data: Json, budget: Budget): boolean {
  const chains = digitChains(id).map(asciiDigits);
  if (chains.some(isNetworkNumber)) return true;
  let known: string[] | undefined;
  for (const number of numbersIn(chains.join(""))) {
    budget.spend(UNITS_PER_COMPARISON);
    known ??= numbersOf(data);
    const isComposed = beginsLikeCard(number) && isComposedOf(number, known.join(" ").slice(0, MAX_COMPARED));
    if (isComposed || known.some((other) => haveSameEnds(number, other))) return true;
  }
  return false;
}

function* numbersIn(digits: string): Generator<string> {
  for (let start = 0; start < digits.length; start += 1) {
    for (let end = start + MIN_CARD_DIGITS; isCardLength(digits.slice(start, end)) && end <= digits.length; end += 1) {
      const number = digits.slice(start, end);
      if (passesLuhn(number)) yield number;
    }
  }
}

function haveSameEnds(one: string, other: string): boolean {
  const { start, end } = hiddenStretch(one.length);
  return (
    one.length === other.length && one.slice(0, start) === other.slice(0, start) && one.slice(end) === other.slice(end)
  );
}

/** Taking the longest part each time takes as few parts as there can be. */
function isComposedOf(number: string, parts: string): boolean {
  let at = 0;
  for (let taken = 0; taken < MAX_PARTS && at < number.length; taken += 1) {
    let end = at;
    while (end < number.length && parts.includes(number.slice(at, end + 1))) end += 1;
    if (end === at) return false;
    at = end;
  }
  return at === number.length;
}

/** The numbers in the leaves and names of a value, until they have {@link MAX_COMPARED} digits. */
function numbersOf(data: Json): string[] {
  const numbers: string[] = [];
  let left = MAX_COMPARED;
  const add = (text: string) => {
    for (const chain of digitChains(text)) {
      numbers.push(asciiDigits(chain));
      left -= chain.length;
    }
  };
  const visit = (value: Json): void => {
    if (left <= 0 || value === null || typeof value === "boolean") return;
    if (typeof value !== "object") add(String(value));
    else if (isJsonObject(value)) for (const name of Object.keys(value)) add(name);
    if (typeof value === "object") for (const item of Object.values(value)) visit(item);
  };
  visit(data);
  return numbers;
}
