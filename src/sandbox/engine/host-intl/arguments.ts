import type { Json } from "../../../base/json.js";
import { list, text } from "../../wire/shape.js";

/**
 * ICU runs natively, where no deadline can stop it. Most of it takes time by the length of its text, and comparing
 * takes more: 64 KB of combining marks 3.7 s, 4 KB 15 ms. The guest compares longer texts by their beginning.
 */
const MAX_COMPARED_CHARACTERS = 4_096;
const MAX_TEXT_CHARACTERS = 64 * 1024;
const MAX_LIST_ITEMS = 1_000;
const MAX_DIGITS = 1_000;

/** A time in milliseconds; null where the guest's is no time. */
export function numericArgument(value: Json | undefined): number {
  return typeof value === "number" ? value : Number.NaN;
}

/** A number as text, because JSON has no NaN, infinities or -0; a BigInt ends with "n". */
export function numeralArgument(value: Json | undefined): number | bigint {
  const digits = text(value, MAX_DIGITS);
  return /^-?\d+n$/.test(digits) ? BigInt(digits.slice(0, -1)) : Number(digits);
}

export function shortText(value: Json | undefined): string {
  return text(value, MAX_COMPARED_CHARACTERS);
}

export function longText(value: Json | undefined): string {
  return text(value, MAX_TEXT_CHARACTERS);
}

export function texts(value: Json | undefined): string[] {
  return list(value, MAX_LIST_ITEMS).map(longText);
}
