import { passesLuhn } from "../../base/luhn.js";

/** Thirteen to nineteen digits with single blanks or dashes between them. Parts of a UUID have letters or dashes beside them. */
const DIGITS = /(?<![0-9a-f-])\d(?:[ -]?\d){12,18}(?![0-9a-f-])/gi;

/** Whether a text contains what may be a card number. Such a text stays out of addresses, which browsers keep. */
export function containsCardNumber(text: string): boolean {
  return [...text.matchAll(DIGITS)].some(([found]) => passesLuhn(found.replaceAll(/\D/g, "")));
}
