import { placeOutside, writerAlone } from "./json.js";
import { asText, type FindPlaces, type Replacement } from "./place.js";
import { BracePairs, type SpelledSpan } from "./spelled-braces.js";

/**
 * JSON5 (json5.org): as JSON, but strings may have single quotes, braces more spellings, and comments may have quotes
 * that begin no string. Expressions in comments stay, because no value may end a comment.
 */
export const placesInJson5: FindPlaces = function* (text) {
  const pairs = new BracePairs();
  // As in JSON: no expression outside of strings ends after it.
  const lastClose = text.lastIndexOf("}}") - 1;
  // Offset of the current string's quote; -1 outside of strings.
  let quote = -1;
  let delimiter = 0;
  for (let at = 0; at < text.length; ) {
    const code = text.charCodeAt(at);
    if (quote >= 0) {
      const { length, sign } = code === BACKSLASH ? escapeAt(text, at) : { length: 1, sign: signOf(code) };
      if (code === delimiter) quote = -1;
      const span = sign === 0 ? undefined : pairs.add(at, sign * length);
      if (span) yield placeInString(text, quote, span);
      at += length;
    } else if (code === DOUBLE_QUOTE || code === SINGLE_QUOTE) {
      quote = at;
      delimiter = code;
      pairs.clear();
      at += 1;
    } else if (code === SLASH) at = endOfComment(text, at);
    else {
      const outside = code === OPENING && at < lastClose ? placeOutside(text, at) : undefined;
      if (outside) yield outside;
      at = outside?.end ?? at + 1;
    }
  }
};

const DOUBLE_QUOTE = 0x22;
const SINGLE_QUOTE = 0x27;
const SLASH = 0x2f;
const BACKSLASH = 0x5c;
const OPENING = 0x7b;
const CLOSING = 0x7d;

interface Escape {
  readonly length: number;
  /** 1 for an opening brace, -1 for a closing one, 0 for all else. */
  readonly sign: number;
}

/** A backslash before a line break counts for nothing, so it belongs to the brace that follows. */
function escapeAt(text: string, at: number): Escape {
  if (!MATTERING.has(text.charCodeAt(at + 1))) return OTHER_ESCAPE;
  CONTINUATIONS.lastIndex = at;
  const skipped = CONTINUATIONS.exec(text)?.[0].length ?? 0;
  BRACE.lastIndex = at + skipped;
  const [spelled, hexadecimal, utf16, plain = ""] = BRACE.exec(text) ?? [];
  if (spelled === undefined) return { length: skipped === 0 ? 2 : skipped, sign: 0 };
  const code = hexadecimal ?? utf16;
  return { length: skipped + spelled.length, sign: signOf((code ? charOf(code) : plain).charCodeAt(0)) };
}

const CONTINUATIONS = /(?:\\(?:\r\n|[\n\r\u2028\u2029]))*/y;
const BRACE = /\\x(7[bd])|\\u(007[bd])|\\?([{}])/iy;

/** The characters after a backslash that may be part of a brace. Patterns for each of 2.6 million took 100 ms. */
const MATTERING = new Set([..."xXuU{}\r\n\u2028\u2029"].map((char) => char.charCodeAt(0)));
const OTHER_ESCAPE: Escape = { length: 2, sign: 0 };

function signOf(code: number): number {
  return code === OPENING ? 1 : code === CLOSING ? -1 : 0;
}

/** The offset after a comment, or after a slash that begins none. */
function endOfComment(text: string, slash: number): number {
  const next = text.charAt(slash + 1);
  if (next !== "/" && next !== "*") return slash + 1;
  const end = next === "/" ? LINE_END : BLOCK_END;
  end.lastIndex = slash + 2;
  return end.test(text) ? end.lastIndex : text.length;
}

const LINE_END = /[\n\r\u2028\u2029]/g;
const BLOCK_END = /\*\//g;

function placeInString(
  text: string,
  quote: number,
  { start, end, contentStart, contentEnd }: SpelledSpan,
): Replacement {
  const expression = unescaped(text.slice(contentStart, contentEnd));
  const delimiter = text.charAt(quote);
  const isAlone = start === quote + 1 && text.charAt(end) === delimiter;
  return isAlone
    ? { start: quote, end: end + 1, expression, write: writerAlone(expression, (value) => quoted(value, delimiter)) }
    : { start, end, expression, write: (value) => quoted(asText(value), delimiter).slice(1, -1) };
}

/** JSON5 reads a JSON string as JSON does. Between single quotes, only those need an escape more. */
function quoted(text: string, delimiter: string): string {
  const written = JSON.stringify(text);
  return delimiter === '"' ? written : `'${written.slice(1, -1).replaceAll("'", "\\'")}'`;
}

const ESCAPE = /\\(?:x([0-9a-f]{2})|u([0-9a-f]{4})|(\r\n|[\s\S]))/gi;
const NAMED: Readonly<Record<string, string>> = { b: "\b", f: "\f", n: "\n", r: "\r", t: "\t", v: "\v", 0: "\0" };

function unescaped(text: string): string {
  return text.replaceAll(ESCAPE, (_, hexadecimal?: string, utf16?: string, char = "") => {
    const code = hexadecimal ?? utf16;
    if (code) return charOf(code);
    return /[\r\n\u2028\u2029]/.test(char) ? "" : (NAMED[char] ?? char);
  });
}

function charOf(code: string): string {
  return String.fromCharCode(Number.parseInt(code, 16));
}
