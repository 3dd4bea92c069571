import creditCardType from "credit-card-type";
import { passesLuhn } from "../../base/luhn.js";

/** The longest card number (ISO/IEC 7812-1). */
export const MAX_DIGITS = 19;
/** The shortest that the vault stores. */
const MIN_DIGITS = 13;
/** From this length on, a page may see eight digits of the beginning. */
const LONG_DIGITS = 16;

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
  /**
   * The brand has numbers of this length, of which longer ones may begin in the same way. Whether the check digit fits
   * says something about the longer number then. Holds for 16 digits of Visa too.
   */
  readonly mayGoOn: boolean;
}

const DEFAULT_GAPS = [4, 8, 12, 16];
const EVERY_LENGTH = Array.from({ length: MAX_DIGITS - MIN_DIGITS + 1 }, (_, more) => MIN_DIGITS + more);

export function readCardNumber(digits: string): CardNumber {
  const brands = digits === "" ? [] : creditCardType(digits);
  const [only, ...others] = brands;
  const isCertain = only !== undefined && others.length === 0;
  const lengths = isCertain ? only.lengths.filter((length) => length >= MIN_DIGITS) : EVERY_LENGTH;
  const hasLength = lengths.includes(digits.length);
  const isFull = digits.length >= Math.max(...lengths);
  return {
    digits,
    brand: isCertain ? only.type : undefined,
    gaps: only?.gaps ?? DEFAULT_GAPS,
    codeLengths: only ? [...new Set(brands.map(({ code }) => code.size))] : [3, 4],
    isValid: hasLength && passesLuhn(digits),
    isFull,
    mayGoOn: hasLength && !isFull,
  };
}

/** The digits in the groups of the brand: `4242 4242 4242 4242`. */
export function formatCardNumber({ digits, gaps }: CardNumber): string {
  return [...digits].map((digit, at) => (gaps.includes(at) ? ` ${digit}` : digit)).join("");
}

/** How many of the first digits a page may see. Eight only where eight others stay hidden (PCI DSS 4.0.1, 3.4.1). */
export function binLength({ length }: string): number {
  return length >= LONG_DIGITS ? 8 : 6;
}
