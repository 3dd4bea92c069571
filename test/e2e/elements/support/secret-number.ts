import { randomInt } from "node:crypto";

/** Digits, also in groups of four and in UTF-16. */
const DIGIT_RUN = /[0-9](?:[\0 -]{0,3}[0-9]){6,}/g;

/** A random card number, and a search for the parts of it that only the vault may know. */
export interface SecretNumber {
  readonly digits: string;
  /** Whether seven digits in a row that are not all part of the bin occur in a text. */
  isIn(text: string): boolean;
}

export function secretNumber(): SecretNumber {
  const start = `4${Array.from({ length: 14 }, () => randomInt(10)).join("")}`;
  const digits = `${start}${Array.from({ length: 10 }, (_, digit) => String(digit)).find((digit) => passesLuhn(`${start}${digit}`))}`;
  const parts = Array.from({ length: 8 }, (_, at) => digits.slice(at + 2, at + 9));
  return {
    digits,
    isIn(text) {
      for (const [run] of text.matchAll(DIGIT_RUN)) {
        const found = run.replace(/[^0-9]/g, "");
        if (parts.some((part) => found.includes(part))) return true;
      }
      return false;
    },
  };
}

function passesLuhn(digits: string): boolean {
  const sum = [...digits].reverse().reduce((total, digit, index) => {
    const value = index % 2 === 0 ? Number(digit) : Number(digit) * 2;
    return total + (value > 9 ? value - 9 : value);
  }, 0);
  return sum % 10 === 0;
}
