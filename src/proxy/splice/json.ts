import type { Json } from "../../base/json.js";
import { asText, type FindPlaces, type Replacement } from "./place.js";
import { BracePairs, type SpelledSpan } from "./spelled-braces.js";

/**
 * JSON: an object or array replaces a string that consists of its expression alone, quotes included; everything else
 * stays inside the quotes, escaped. That includes numbers and booleans, by the published interface, unless the
 * expression ends with `to_number` or `to_boolean`. An expression outside of quotes becomes the JSON of its value. The
 * text is not parsed and written again: signatures, number spellings and key order depend on its bytes. An expression
 * lies within one string, or outside of all: braces that open in one string and close in another are text.
 */
export const placesInJson: FindPlaces = function* (text) {
  if (!text.includes("{{") && !ESCAPED_BRACE.test(text)) return;
  const pairs = new BracePairs();
  // No expression ends after it: searching for an end from each opening would take quadratic time.
  const lastClose = text.lastIndexOf("}}") - 1;
  // Offset of the current string's quote; -1 outside of strings.
  let quote = -1;
  for (let at = 0; at < text.length; ) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) {
      quote = quote < 0 ? at : -1;
      pairs.clear();
      at += 1;
    } else if (quote < 0) {
      const outside = code === OPENING && at < lastClose ? placeOutside(text, at) : undefined;
      if (outside) yield outside;
      at = outside?.end ?? at + 1;
    } else if (code === BACKSLASH) {
      const brace = escapedBrace(text, at);
      const span = brace === 0 ? undefined : pairs.add(at, brace);
      if (span) yield placeInString(text, quote, span);
      at += brace === 0 ? escapeLength(text, at) : Math.abs(brace);
    } else {
      const span = code === OPENING || code === CLOSING ? pairs.add(at, code === OPENING ? 1 : -1) : undefined;
      if (span) yield placeInString(text, quote, span);
      at += 1;
    }
  }
};

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPENING = 0x7b;
const CLOSING = 0x7d;

const ESCAPED_BRACE = /\\u007b/i;

/** The length of an escaped opening brace, minus that of a closing one, 0 for another escape. */
function escapedBrace(text: string, at: number): number {
  if (!text.startsWith("u007", at + 1)) return 0;
  const digit = text.charCodeAt(at + 5) | 0x20;
  return digit === 0x62 ? 6 : digit === 0x64 ? -6 : 0;
}

/** A backslash before a brace is not a JSON escape, and some parsers skip it. */
function escapeLength(text: string, at: number): number {
  const next = text.charCodeAt(at + 1);
  return next === OPENING || next === CLOSING ? 1 : 2;
}

/** An expression outside of strings, which may have quotes itself: its end is found first. */
export function placeOutside(text: string, at: number): Replacement | undefined {
  if (text.charCodeAt(at + 1) !== OPENING) return undefined;
  const close = text.indexOf("}}", at + 2);
  if (close < 0) return undefined;
  const start = text.lastIndexOf("{{", close - 2);
  return {
    start,
    end: close + 2,
    expression: text.slice(start + 2, close),
    write: (value: Json) => JSON.stringify(value),
  };
}

function placeInString(
  text: string,
  quote: number,
  { start, end, contentStart, contentEnd }: SpelledSpan,
): Replacement {
  const expression = unescaped(text.slice(contentStart, contentEnd));
  const isAlone = start === quote + 1 && text.charCodeAt(end) === QUOTE;
  return isAlone
    ? { start: quote, end: end + 1, expression, write: writerAlone(expression, quoted) }
    : { start, end, expression, write: (value) => escaped(asText(value)) };
}

/** A string can have a number only as text: a caller whose client writes the JSON requests a number by a cast. */
const CAST = /\|\s*to_(?:number|boolean)\s*$/;

/** @param quoted a text as a string of the format, with its quotes. */
export function writerAlone(expression: string, quoted: (text: string) => string): (value: Json) => string {
  const isCast = CAST.test(expression);
  return (value) =>
    (typeof value === "object" && value !== null) ||
    (isCast && (typeof value === "number" || typeof value === "boolean"))
      ? JSON.stringify(value)
      : quoted(asText(value));
}

function quoted(text: string): string {
  return JSON.stringify(text);
}

function escaped(text: string): string {
  return quoted(text).slice(1, -1);
}

function unescaped(text: string): string {
  if (!text.includes("\\")) return text;
  try {
    const parsed: Json = JSON.parse(`"${text}"`);
    return String(parsed);
  } catch {
    return text;
  }
}
