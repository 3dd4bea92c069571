/** A decimal digit of any script, with its place in the text. */
export interface PlacedDigit {
  readonly value: number;
  /** The code point of zero in its script. */
  readonly zero: number;
  /** Its offset in the text. */
  readonly at: number;
  readonly length: number;
  /** Something separates it from the digit before it. */
  readonly beginsGroup: boolean;
}

/** Digits with at most {@link MAX_BETWEEN} separators between any two of them: `4242-4242 4242.4242`. */
export type DigitChain = readonly PlacedDigit[];

const MAX_BETWEEN = 3;
const DECIMAL = /\p{Nd}/u;
const LETTER = /\p{L}/u;

/** A UUID with a letter. Its digits are no number, and data often has one. */
const UUID = /(?=[\d-]*[a-f])[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}/gi;

/** All chains of digits of a text, in order. Takes linear time. */
export function digitChains(text: string): DigitChain[] {
  if (!DECIMAL.test(text)) return [];
  const uuids = text.length < 36 ? [] : [...text.matchAll(UUID)].map(({ index }) => index);
  const chains: PlacedDigit[][] = [];
  let chain: PlacedDigit[] | undefined;
  let between = 0;
  for (let at = 0; at < text.length; ) {
    if (at === uuids[0]) {
      uuids.shift();
      chain = undefined;
      at += 36;
      continue;
    }
    const character = String.fromCodePoint(text.codePointAt(at) ?? 0);
    const digit = digitValue(character);
    if (digit) {
      const placed = { ...digit, at, length: character.length, beginsGroup: chain === undefined || between > 0 };
      if (chain) chain.push(placed);
      else {
        chain = [placed];
        chains.push(chain);
      }
      between = 0;
    } else if (chain) {
      between += 1;
      if (between > MAX_BETWEEN || LETTER.test(character)) chain = undefined;
    }
    at += character.length;
  }
  return chains;
}

/** All digits of a text in ASCII, whatever is between them. */
export function allDigits(text: string): string {
  return [...text].map((character) => digitValue(character)?.value ?? "").join("");
}

function digitValue(character: string): Pick<PlacedDigit, "value" | "zero"> | undefined {
  const code = character.codePointAt(0) ?? 0;
  if (code < 0x80) return code >= 0x30 && code <= 0x39 ? { value: code - 0x30, zero: 0x30 } : undefined;
  if (!DECIMAL.test(character)) return undefined;
  // Unicode keeps the ten digits of a script in a row, and some rows one behind the other.
  let before = 0;
  while (DECIMAL.test(String.fromCodePoint(code - before - 1))) before += 1;
  return { value: before % 10, zero: code - (before % 10) };
}

export function asciiDigits(digits: readonly PlacedDigit[]): string {
  return digits.map(({ value }) => value).join("");
}

/** A part of a chain: from `start` to before `end`. */
export interface Stretch {
  readonly start: number;
  readonly end: number;
}

/** The groups of a chain between separators. */
export function digitGroups(chain: DigitChain): Stretch[] {
  const starts = chain.flatMap(({ beginsGroup }, index) => (beginsGroup ? [index] : []));
  return starts.map((start, index) => ({ start, end: starts[index + 1] ?? chain.length }));
}

/** The text with some of its digits replaced by others of their script. */
export function withDigits(text: string, replaced: ReadonlyMap<PlacedDigit, number>): string {
  let result = "";
  let from = 0;
  for (const [{ at, length, zero }, value] of [...replaced].sort(([one], [other]) => one.at - other.at)) {
    result += text.slice(from, at) + String.fromCodePoint(zero + value);
    from = at + length;
  }
  return result + text.slice(from);
}
