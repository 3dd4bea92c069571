import { formatCardNumber, MAX_DIGITS, readCardNumber } from "./card-number.js";
import { digitsIn } from "./digits.js";
import type { EntryKind, Reading } from "./entry-kind.js";
import { formatExpiration, readExpiration } from "./expiration.js";
import type { NumberProgress } from "./number-progress.js";

const EMPTY: Reading = { isFull: false };

export function cardNumberKind(progress: NumberProgress): EntryKind {
  return {
    name: "cardnumber",
    autocomplete: "cc-number",
    inputMode: "numeric",
    isDigits: true,
    significant: /[0-9]/,
    format: (text) => formatCardNumber(readCardNumber(digitsIn(text).slice(0, MAX_DIGITS))),
    read: () => progress.read(),
  };
}

export const expirationKind: EntryKind = {
  name: "exp-date",
  autocomplete: "cc-exp",
  inputMode: "numeric",
  isDigits: true,
  significant: /[0-9]/,
  format: formatExpiration,
  read(text) {
    if (digitsIn(text) === "") return EMPTY;
    const read = readExpiration(text, new Date());
    return typeof read === "string" ? { isFull: false, problem: read } : { isFull: true, value: read };
  },
};

/** @param lengths those of the card's brand; several while it is unknown. */
export function verificationCodeKind(lengths: () => readonly number[]): EntryKind {
  return {
    name: "cvc",
    autocomplete: "cc-csc",
    inputMode: "numeric",
    isDigits: true,
    significant: /[0-9]/,
    format: (text) => digitsIn(text).slice(0, Math.max(...lengths())),
    read(text) {
      const digits = digitsIn(text);
      if (digits === "") return EMPTY;
      if (!lengths().includes(digits.length)) return { isFull: false, problem: "incomplete" };
      return { isFull: digits.length === Math.max(...lengths()), value: digits };
    },
  };
}
