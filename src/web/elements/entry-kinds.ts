import { formatCardNumber, MAX_DIGITS, readCardNumber } from "./card-number.js";
import { digitsIn, passesAba, passesLuhn } from "./digits.js";
import { type Expiration, formatExpiration, readExpiration } from "./expiration.js";
import type { ErrorCode } from "./locales.js";
import { applyMask, fillsMask } from "./text-mask.js";

/** What a frame hands to the controller. Never leaves the vault's frames. */
export type EntryValue = string | Expiration;

/** What an input holds. */
export interface Reading {
  readonly value?: EntryValue;
  /** Why there is no value. Absent also while nothing is typed. */
  readonly problem?: ErrorCode;
  /** Nothing more can be typed, and it is correct: the focus may move on. */
  readonly isFull: boolean;
  readonly brand?: string | undefined;
  /** Lengths of the verification code that the card's brand has. */
  readonly codeLengths?: readonly number[];
  /** What the page may see of a complete card number. */
  readonly bin?: string;
  readonly last4?: string;
}

/** How an input formats, and what it makes of a text. */
export interface EntryKind {
  readonly name: string;
  readonly autocomplete: string;
  readonly inputMode: "numeric" | "text";
  /** Digits run from left to right in every language. */
  readonly isDigits: boolean;
  /** Characters that the caret counts; the others come and go with the format. */
  readonly significant: RegExp;
  format(text: string): string;
  read(text: string): Reading;
}

const EMPTY: Reading = { isFull: false };

export const cardNumberKind: EntryKind = {
  ...{ name: "cardnumber", autocomplete: "cc-number", inputMode: "numeric", isDigits: true, significant: /[0-9]/ },
  format: (text) => formatCardNumber(readCardNumber(digitsIn(text).slice(0, MAX_DIGITS))),
  read(text) {
    const number = readCardNumber(digitsIn(text));
    const { digits, brand, codeLengths, isValid, isFull } = number;
    const known = { brand, codeLengths };
    if (digits === "") return { ...EMPTY, ...known };
    // 16 digits are usually all, even of brands that allow 19: a wrong number is then invalid, not incomplete.
    if (!isValid) return { ...known, isFull: false, problem: isFull || digits.length >= 16 ? "invalid" : "incomplete" };
    // Eight digits only where eight others stay hidden (PCI DSS 4.0.1, 3.4.1).
    const bin = digits.slice(0, digits.length >= 16 ? 8 : 6);
    return { ...known, isFull: isFull && brand !== undefined, value: digits, bin, last4: digits.slice(-4) };
  },
};

export const expirationKind: EntryKind = {
  ...{ name: "exp-date", autocomplete: "cc-exp", inputMode: "numeric", isDigits: true, significant: /[0-9]/ },
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
    ...{ name: "cvc", autocomplete: "cc-csc", inputMode: "numeric", isDigits: true, significant: /[0-9]/ },
    format: (text) => digitsIn(text).slice(0, Math.max(...lengths())),
    read(text) {
      const digits = digitsIn(text);
      if (digits === "") return EMPTY;
      if (!lengths().includes(digits.length)) return { isFull: false, problem: "incomplete" };
      return { isFull: digits.length === Math.max(...lengths()), value: digits };
    },
  };
}

/** The longest text of a field without a mask. */
const MAX_CHARACTERS = 4_000;

export interface TextRules {
  readonly mask?: string | undefined;
  readonly pattern?: RegExp | undefined;
  readonly check?: "luhn" | "aba" | undefined;
}

export function textKind({ mask, pattern, check }: TextRules): EntryKind {
  const isDigits = mask !== undefined && !/[A*]/.test(mask);
  const passes = (text: string) =>
    (check !== "luhn" || passesLuhn(digitsIn(text))) && (check !== "aba" || passesAba(digitsIn(text)));
  return {
    ...{ name: "secure-text", autocomplete: "off", inputMode: isDigits ? "numeric" : "text", isDigits },
    significant: mask === undefined ? /./su : /[0-9]|\p{L}/u,
    format: (text) => (mask === undefined ? text.slice(0, MAX_CHARACTERS) : applyMask(mask, text)),
    read(text) {
      if (text.trim() === "") return EMPTY;
      if (mask !== undefined && !fillsMask(mask, text)) return { isFull: false, problem: "incomplete" };
      if ((pattern && !pattern.test(text)) || !passes(text)) return { isFull: false, problem: "invalid" };
      return { isFull: mask !== undefined, value: text };
    },
  };
}
