import { Fault } from "../base/fault.js";

/** Bounds of a reason, in code points after trimming, and its bytes as UTF-8. */
const MIN_LENGTH = 3;
const MAX_LENGTH = 500;
const MAX_BYTES = 2_000;

/**
 * Controls, line and paragraph separators, and marks that reorder text: with them a reason could look like another one,
 * or like several rows.
 */
const UNPRINTABLE = /[\p{Cc}\p{Zl}\p{Zp}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]/u;
/** 13 to 19 digits of any script, with at most three other characters between any two of them. */
const DIGITS = /\p{Nd}/u;
const MAX_BETWEEN = 3;
/** Nine digits in the groups of a US social security number, or together. */
const SOCIAL_SECURITY_NUMBER = /(?<!\d)\d{3}([-. \u2010-\u2015]?)\d{2}\1\d{4}(?!\d)/;
const OWN_KEY = /key_[a-z]+_(?:pvt|pub|mgt|ses|prx)_/i;

/**
 * Rows store it for years and auditors read it, so it must be plain text without secrets.
 * @param text as decoded; undefined if it was not UTF-8.
 * @throws {Fault} reason_invalid, which does not quote the text.
 */
export function readReason(text: string | undefined): string {
  if (text === undefined || !text.isWellFormed()) throw refused("be UTF-8 text");
  const reason = text.normalize("NFC").trim();
  const length = [...reason].length;
  if (length < MIN_LENGTH || length > MAX_LENGTH) throw refused(`have ${MIN_LENGTH} to ${MAX_LENGTH} characters`);
  if (Buffer.byteLength(reason) > MAX_BYTES) throw refused(`have at most ${MAX_BYTES} bytes`);
  if (UNPRINTABLE.test(reason)) throw refused("not contain control characters, line breaks or marks that reorder text");
  // Compatibility forms such as full-width digits read as digits too.
  const folded = reason.normalize("NFKC");
  if (reasonHasCardNumber(folded)) throw refused("not contain a card number");
  if (SOCIAL_SECURITY_NUMBER.test(asciiDigits(folded))) throw refused("not contain a social security number");
  if (OWN_KEY.test(folded)) throw refused("not contain a key");
  return reason;
}

function refused(expectation: string): Fault {
  return new Fault("reason_invalid", `The reason in X-Cloakroom-Reason must ${expectation}.`);
}

/** Lengths of card numbers, by the first digits of brands. */
const BRANDED =
  /^(?:4\d{15}|(?:5[1-5]|2[2-7])\d{14}|3[47]\d{13}|6(?:011|4[4-9]\d|5\d\d)\d{12}|(?:35|62)\d{14}|3(?:0[0-5]|[689]\d)\d{11})/;
const BRANDED_LENGTHS = [14, 15, 16];

/**
 * Whether a text contains 13 to 19 digits that pass the check of card numbers, with or without separators. They are
 * whole groups of digits: parts of longer numbers pass the check too often. Only at the start and the end of a longer
 * number, a card number of a known brand is found as well, as in a number with its expiry and code pasted behind it.
 */
export function reasonHasCardNumber(text: string): boolean {
  return hasSeparateCardNumber(text) || longNumbersIn(text).some(isJoinedToCardNumber);
}

/** Numbers of at least 14 digits, in ASCII. */
function longNumbersIn(text: string): readonly string[] {
  return text.match(/\p{Nd}{14,}/gu)?.map(asciiDigits) ?? [];
}

function isJoinedToCardNumber(number: string): boolean {
  const [first] = BRANDED.exec(number) ?? [];
  const last = BRANDED_LENGTHS.map((length) => number.slice(-length)).filter((end) => BRANDED.exec(end)?.[0] === end);
  return [...(first ? [first] : []), ...last].some(passesLuhn);
}

function passesLuhn(number: string): boolean {
  return endsWithCardNumber([...number].map((digit, index) => ({ value: Number(digit), beginsGroup: index === 0 })));
}

function hasSeparateCardNumber(text: string): boolean {
  let digits: Digit[] = [];
  let between = 0;
  for (const character of text) {
    if (DIGITS.test(character)) {
      digits.push({ value: digitValue(character), beginsGroup: digits.length === 0 || between > 0 });
      between = 0;
    } else {
      if (between === 0 && endsWithCardNumber(digits)) return true;
      between += 1;
      if (between > MAX_BETWEEN) digits = [];
    }
  }
  return between === 0 && endsWithCardNumber(digits);
}

interface Digit {
  readonly value: number;
  /** No other digit is directly before it. */
  readonly beginsGroup: boolean;
}

const MIN_DIGITS = 13;
const MAX_DIGITS = 19;

/** Whether the last 13 to 19 digits, from the start of a group, pass Luhn's check (ISO/IEC 7812-1, annex B). */
function endsWithCardNumber(digits: readonly Digit[]): boolean {
  let sum = 0;
  const most = Math.min(digits.length, MAX_DIGITS);
  for (let count = 1; count <= most; count += 1) {
    const { value, beginsGroup } = digits[digits.length - count] ?? { value: 0, beginsGroup: false };
    const doubled = 2 * value;
    sum += count % 2 === 1 ? value : doubled > 9 ? doubled - 9 : doubled;
    if (beginsGroup && count >= MIN_DIGITS && sum % 10 === 0 && sum > 0) return true;
  }
  return false;
}

function asciiDigits(text: string): string {
  return text.replaceAll(/\p{Nd}/gu, (digit) => String(digitValue(digit)));
}

/** The value of a decimal digit of any script: Unicode encodes the ten of each script in order, zero first. */
function digitValue(character: string): number {
  const point = character.codePointAt(0) ?? 0;
  if (point < 0x80) return point - 0x30;
  let zero = point;
  while (point - zero < 9 && DIGITS.test(String.fromCodePoint(zero - 1))) zero -= 1;
  return point - zero;
}
