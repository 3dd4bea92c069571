import creditCardType from "credit-card-type";
import { passesLuhn } from "./digits.js";

/** The longest card number (ISO/IEC 7812-1). */
export const MAX_DIGITS = 19;
/** The shortest that the vault stores. */
const MIN_DIGITS = 13;

/** What the digits typed so far say about a card. */
export interface CardNumber {
  readonly digits: string;
  /** Absent while several brands fit. */
  readonly brand: string | undefined;
  /** Digits after which a gap is shown. */
  readonly gaps: readonly number[];
  readonly codeLengths: readonly number[];
  /** Complete and correct. */
  readonly isValid: boolean;
  /** No further digit can follow. */
  readonly isFull: boolean;
}

const DEFAULT_GAPS = [4, 8, 12, 16];

export function readCardNumber(digits: string): CardNumber {
  const brands = digits === "" ? [] : creditCardType(digits);
  const [only, ...others] = brands;
  const isCertain = only !== undefined && others.length === 0;
  const lengths = isCertain ? only.lengths.filter((length) => length >= MIN_DIGITS) : [];
  const longest = lengths.length > 0 ? Math.max(...lengths) : MAX_DIGITS;
  const fitsLength = lengths.length > 0 ? lengths.includes(digits.length) : digits.length >= MIN_DIGITS;
  return {
    digits,
    brand: isCertain ? only.type : undefined,
    gaps: only?.gaps ?? DEFAULT_GAPS,
    codeLengths: only ? [...new Set(brands.map(({ code }) => code.size))] : [3, 4],
    isValid: fitsLength && digits.length <= MAX_DIGITS && passesLuhn(digits),
    isFull: digits.length >= longest,
  };
}

/** The digits in the groups of the brand: `4242 4242 4242 4242`. */
export function formatCardNumber({ digits, gaps }: CardNumber): string {
  return [...digits].map((digit, at) => (gaps.includes(at) ? ` ${digit}` : digit)).join("");
}
