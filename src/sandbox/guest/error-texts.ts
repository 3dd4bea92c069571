import type { GuestErrors } from "../guest-error.js";
import { writeJson } from "./intrinsics.js";

/** Used if the code gave no text. */
const NOTHING_SAID = "Something went wrong. Please try again, and tell the operator of this service if it continues.";
const TEXT_CHARACTERS = 4_000;
const MAX_TEXTS = 100;

/**
 * Normalises an argument like the published classes. Never throws, and calls back into the value as little as possible.
 */
export function errorTexts(given: unknown): GuestErrors {
  try {
    if (given instanceof Error) return { error: [cut(String(given.message || given.name || NOTHING_SAID))] };
    if (typeof given !== "object" || given === null || Array.isArray(given)) return { error: textsOf(given) };
    const entries = Object.entries(given).slice(0, MAX_TEXTS);
    return Object.fromEntries(entries.map(([name, value]) => [name.slice(0, 200), textsOf(value)]));
  } catch {
    return { error: [NOTHING_SAID] };
  }
}

function textsOf(value: unknown): string[] {
  return Array.isArray(value) ? value.slice(0, MAX_TEXTS).map(thrownText) : [thrownText(value)];
}

function thrownText(value: unknown): string {
  if (value === undefined || value === null) return NOTHING_SAID;
  if (value instanceof Error) return cut(String(value.message || value.name));
  return cut(typeof value === "object" ? jsonOf(value) : String(value));
}

/** JSON in which an object that contains itself is "[Circular]". */
function jsonOf(value: object): string {
  const open: unknown[] = [];
  const write = (part: unknown): unknown => {
    if (typeof part !== "object" || part === null) return part;
    if (open.includes(part)) return "[Circular]";
    open.push(part);
    const written = Array.isArray(part)
      ? part.map(write)
      : Object.fromEntries(Object.entries(part).map(([name, inner]) => [name, write(inner)]));
    open.pop();
    return written;
  };
  return writeJson(write(value)) ?? NOTHING_SAID;
}

function cut(text: string): string {
  return text.length > TEXT_CHARACTERS ? `${text.slice(0, TEXT_CHARACTERS)}...` : text;
}
