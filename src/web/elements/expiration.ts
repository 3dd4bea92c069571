import { asciiDigits } from "./digits.js";

export interface Expiration {
  readonly month: number;
  readonly year: number;
}

/** Card networks issue for at most 20 years; a typing error is likely beyond. */
const MAX_YEARS = 20;

/** Formats as `MM / YY`, or `MM / YYYY` for a year of four digits. Understands `1231`, `12/31`, `12-2031`, `2031-12`. */
export function formatExpiration(text: string): string {
  const [month, year, isSplit] = monthAndYear(text);
  if (year !== "" || (isSplit && month.length === 2)) return `${month} / ${year}`;
  return month;
}

export type ExpirationProblem = "incomplete" | "invalid" | "expired";

/** @param now decides the century and whether the card has expired. */
export function readExpiration(text: string, now: Date): Expiration | ExpirationProblem {
  const [monthText, yearText] = monthAndYear(text);
  const month = Number(monthText);
  if (monthText.length < 2 || (yearText.length !== 2 && yearText.length !== 4)) return "incomplete";
  if (month < 1 || month > 12) return "invalid";
  const thisYear = now.getFullYear();
  const year = yearText.length === 4 ? Number(yearText) : thisYear - (thisYear % 100) + Number(yearText);
  if (year < thisYear || (year === thisYear && month < now.getMonth() + 1)) return "expired";
  return year > thisYear + MAX_YEARS ? "invalid" : { month, year };
}

/** Month and year as far as typed, and whether a separator or the next digit ends the month. */
function monthAndYear(text: string): readonly [month: string, year: string, isSplit: boolean] {
  const ascii = asciiDigits(text).trim();
  const [, isoYear, isoMonth] = /^(20\d\d)[-/.](\d{1,2})(?:[-/.]\d+)?$/.exec(ascii) ?? [];
  if (isoYear !== undefined && isoMonth !== undefined) return [isoMonth.padStart(2, "0"), isoYear, true];
  const [, first = "", separator = "", second = ""] = /^(\d{1,2})(?!\d)([^\d]*)(\d*)/.exec(ascii) ?? [];
  if (separator.trim() !== "") {
    return [first.padStart(2, "0"), second.slice(0, 4), true];
  }
  const digits = ascii.replace(/[^0-9]/g, "");
  const isOneDigitMonth = /^[2-9]/.test(digits);
  const month = isOneDigitMonth ? `0${digits.slice(0, 1)}` : digits.slice(0, 2);
  const year = digits.slice(isOneDigitMonth ? 1 : 2, isOneDigitMonth ? 5 : 6);
  return [month, year, isOneDigitMonth || digits.length >= 2];
}
