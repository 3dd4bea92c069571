import { isJsonObject, type Json, type JsonObject, setOwnProperty } from "../base/json.js";
import { passesLuhn } from "../base/luhn.js";
import type { Budget } from "./budget.js";
import { cardNumbersIn, codesIn, hiddenDigits, isCode, isShort, MIN_CARD_DIGITS } from "./card-digits.js";
import { mayBeYearOrEnding, namesCode } from "./code-names.js";
import { asciiDigits, digitChains, type PlacedDigit, withDigits } from "./digit-chains.js";
import { concealPieces, hasPiecedCardNumber } from "./pieced-numbers.js";
import type { DrawBelow } from "./random.js";

/** What a value is replaced under. */
interface Concealment {
  readonly draw: DrawBelow;
  /** The data has a card number, so any three or four digits may be its verification code. */
  readonly holdsCard: boolean;
  /** A name of the value, or of what contains it, says that it is a verification code. */
  readonly isNamedCode: boolean;
  /** The name says that four digits are something else. */
  readonly isNamedOtherwise: boolean;
}

/**
 * A copy of data in which random digits stand for those that no id may depend on: in every number of 13 to 19 digits
 * those between BIN and last four, and verification codes. Whatever an expression does to the copy, its result is
 * independent of the digits that were replaced. Names of fields are treated like texts.
 *
 * Parts without such digits are shared with `data`.
 */
export function concealedData(data: Json, draw: DrawBelow, budget: Budget): Json {
  payFor(data, budget);
  const holdsCard = holdsCardNumber(data);
  return conceal(data, { draw, holdsCard, isNamedCode: false, isNamedOtherwise: false });
}

/** Measured: finding the digits of a text takes some 0.3 us for each of them, and 5 ns for other characters. */
const UNITS_PER_DIGIT = 8;
const CHARACTERS_PER_UNIT = 8;
/** A leaf of a list or object, which is compared with its neighbours. */
const UNITS_PER_LEAF = 40;

/** Pays for all digits before any is looked at. */
function payFor(value: Json, budget: Budget): void {
  if (typeof value === "string") {
    const digits = value.length < MIN_CARD_DIGITS ? 0 : value.length - value.replace(/\d/g, "").length;
    budget.spend(UNITS_PER_LEAF + value.length / CHARACTERS_PER_UNIT + digits * UNITS_PER_DIGIT);
  } else if (typeof value === "object" && value !== null) {
    for (const item of Object.values(value)) payFor(item, budget);
  } else {
    budget.spend(UNITS_PER_LEAF);
  }
}

/** Whether a leaf, a name or neighbouring leaves together are a card number, by its check digit. */
function holdsCardNumber(value: Json): boolean {
  if (typeof value === "string") return !cardNumbersIn(value).next().done;
  if (typeof value === "number") return !cardNumbersIn(String(value)).next().done;
  if (typeof value !== "object" || value === null) return false;
  const items = Array.isArray(value) ? value : Object.values(value);
  return (
    items.some(holdsCardNumber) ||
    hasPiecedCardNumber(items) ||
    (isJsonObject(value) && Object.keys(value).some(holdsCardNumber))
  );
}

function conceal(value: Json, how: Concealment): Json {
  if (typeof value === "string") return concealText(value, how);
  if (typeof value === "number") return concealNumber(value, how);
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) {
    const items = withoutPieces(
      value,
      value.map((item) => conceal(item, how)),
      how,
    );
    return items.every((item, index) => item === value[index]) ? value : items;
  }
  return concealObject(value, how);
}

/** Numbers of an ordinary list, such as of stock, are often as long together as a card number: they stay without one. */
function withoutPieces(items: readonly Json[], concealed: Json[], { holdsCard, draw }: Concealment): Json[] {
  return holdsCard ? concealPieces(items, concealed, draw) : concealed;
}

function concealObject(object: JsonObject, how: Concealment): JsonObject {
  const entries = Object.entries(object);
  const values = entries.map(([name, value]) =>
    conceal(value, {
      ...how,
      isNamedCode: how.isNamedCode || namesCode(name),
      isNamedOtherwise: mayBeYearOrEnding(name),
    }),
  );
  const concealed = withoutPieces(Object.values(object), values, how);
  const names = entries.map(([name]) => concealText(name, { ...how, isNamedCode: false, isNamedOtherwise: false }));
  if (entries.every(([name, value], index) => value === concealed[index] && name === names[index])) return object;
  const copy: JsonObject = {};
  for (const [index, name] of names.entries()) setOwnProperty(copy, name, concealed[index] ?? null);
  return copy;
}

/** Shorter texts have no verification code. */
const MIN_CODE_DIGITS = 3;
/** Digits alone that are too many for a code, and too few for a card number. */
const ORDINARY_NUMBER = /^\d{5,12}$/;

function concealText(text: string, { draw, holdsCard, isNamedCode, isNamedOtherwise }: Concealment): string {
  if (text.length < (isNamedCode || holdsCard ? MIN_CODE_DIGITS : MIN_CARD_DIGITS)) return text;
  if (ORDINARY_NUMBER.test(text)) return text;
  const chains = digitChains(text);
  const replaced = new Map<PlacedDigit, number>();
  const redraw = (digit: PlacedDigit) => replaced.set(digit, draw(10));
  const isOnlyCode = isCode(text);
  if (isNamedCode || (holdsCard && (isOnlyCode ? !isNamedOtherwise : hasCardNumber(text)))) {
    for (const chain of chains.filter(isShort)) {
      const codes = isOnlyCode ? [{ start: 0, end: chain.length }] : codesIn(chain);
      for (const { start, end } of codes) for (const digit of chain.slice(start, end)) redraw(digit);
    }
  }
  for (const chain of chains) {
    const hidden = hiddenDigits(chain);
    for (const digit of hidden) redraw(digit);
    spoilCheckDigit(chain, hidden, replaced);
  }
  return replaced.size === 0 ? text : withDigits(text, replaced);
}

function hasCardNumber(text: string): boolean {
  return !cardNumbersIn(text).next().done;
}

/** Keeps the random digits from making a number of the same check digit, which might be the one that they replace. */
function spoilCheckDigit(
  chain: readonly PlacedDigit[],
  hidden: ReadonlySet<PlacedDigit>,
  replaced: Map<PlacedDigit, number>,
): void {
  const last = [...hidden].at(-1);
  if (!last) return;
  const digits = chain.map((digit) => ({ ...digit, value: replaced.get(digit) ?? digit.value }));
  if (passesLuhn(asciiDigits(digits))) replaced.set(last, ((replaced.get(last) ?? 0) + 1) % 10);
}

function concealNumber(number: number, how: Concealment): number {
  const text = String(number);
  const concealed = concealText(text, how);
  // A first digit of zero would make the number shorter than the one that it stands for.
  return concealed === text ? number : Number(concealed.replace(/^0/, "9"));
}
