import { isJsonObject, type Json } from "../base/json.js";
import { binLength } from "./bin-length.js";
import { cardNumbersIn, hiddenStretch, isNetworkNumber } from "./card-digits.js";
import { asciiDigits, digitChains, digitGroups } from "./digit-chains.js";
import { findTellingParts, partsOfLength, Readings } from "./id-readings.js";
import { findDividedNumbers } from "./pieced-numbers.js";

/** BIN or last four, with the hidden digits beside them. Fewer digits would often be the same by chance. */
const WINDOW = 7;
/** More digits than BIN and last four have together. */
const LONG_WINDOW = 13;
const WINDOWS = [WINDOW, LONG_WINDOW];
/** Numbers of one value that an id is compared with. */
const MAX_COMPARED = 1_000;
/** Characters of one text that are looked at. */
const MAX_TEXT = 20_000;

/**
 * Whether a literal id holds hidden digits of a card number in `data`, or a whole card number where `data` has none. An
 * alias that was made elsewhere, with BIN and last four of the number, may be the id of that number.
 */
export function holdsCardNumber(id: string, data: Json): boolean {
  const found = compare(id, data);
  return found === "same digits" || (found === "no number" && digitChains(id).map(asciiDigits).some(isNetworkNumber));
}

/** Whether an id holds hidden digits of a card number in `data`. */
export function holdsDigitsOfCard(id: string, data: Json): boolean {
  return compare(id, data) === "same digits";
}

function compare(id: string, data: Json): "same digits" | "other digits" | "no number" {
  const chained = digitChains(id).map(asciiDigits).join("");
  const shown = new Set(WINDOWS.flatMap((length) => partsOfLength(chained, length)));
  let readings: Readings | undefined;
  let compared = 0;
  for (const number of cardNumbersOf(data)) {
    readings ??= new Readings(id);
    if (tellingParts(number).some((part) => shown.has(part)) || readings.tell(number)) return "same digits";
    compared += 1;
    if (compared === MAX_COMPARED) break;
  }
  for (const number of dividedNumbersIn(data)) {
    readings ??= new Readings(id);
    if (readings.hold(number)) return "same digits";
  }
  return compared === 0 ? "no number" : "other digits";
}

/**
 * Parts of a card number that have {@link TELLING} of its hidden digits, or all of them if it has fewer. The BIN of
 * 4242424242424242 has such parts too: there only a longer one tells.
 */
function tellingParts(number: string): string[] {
  const bin = number.slice(0, hiddenStretch(number.length).start);
  const short = findTellingParts(number, WINDOW);
  return [...short.filter((part) => !bin.includes(part)), ...partsOfLength(number, LONG_WINDOW)];
}

/**
 * Whether a literal id holds the verification code of the card number in `data` beside its BIN or last four, as in
 * `4242-123`. Any other three digits are those of a code too often.
 */
export function holdsCode(id: string, data: Json, code: string): boolean {
  if (!id.includes(code)) return false;
  const groups = digitChains(id).flatMap((chain) =>
    digitGroups(chain).map(({ start, end }) => asciiDigits(chain.slice(start, end))),
  );
  for (const number of cardNumbersOf(data)) {
    for (const shown of [number.slice(-4), number.slice(0, 6), number.slice(0, binLength(number.length)), number]) {
      const beside = groups.some(
        (group, at) => group === code && (groups[at - 1] === shown || groups[at + 1] === shown),
      );
      if (beside || groups.includes(`${shown}${code}`) || groups.includes(`${code}${shown}`)) return true;
    }
  }
  return false;
}

/** The card numbers that neighbouring leaves of a value have together. */
function* dividedNumbersIn(value: Json): Generator<string> {
  if (typeof value !== "object" || value === null) return;
  const items = Object.values(value);
  yield* findDividedNumbers(items);
  for (const item of items) yield* dividedNumbersIn(item);
}

/** The card numbers in the leaves and names of a value. */
function* cardNumbersOf(value: Json): Generator<string> {
  if (typeof value === "string") yield* cardNumbersIn(value.slice(0, MAX_TEXT));
  else if (typeof value === "number") yield* cardNumbersIn(String(value));
  else if (Array.isArray(value)) for (const item of value) yield* cardNumbersOf(item);
  else if (isJsonObject(value)) {
    for (const [name, item] of Object.entries(value)) {
      yield* cardNumbersIn(name);
      yield* cardNumbersOf(item);
    }
  }
}
