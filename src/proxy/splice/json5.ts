import { placeOutside, writerAlone } from "./json.js";
import { asText, type FindPlaces, type Place } from "./place.js";
import { BracePairs, type SpelledSpan } from "./spelled-braces.js";

/**
 * JSON5 (json5.org): as JSON, but strings may have single quotes, braces more spellings, and comments may have quotes
 * that begin no string. Expressions in comments stay, because no value may end a comment.
 */
export const placesInJson5: FindPlaces = function* (text) {
  // As in JSON: no expression outside of strings ends after it.
  const lastClose = text.lastIndexOf("}}") - 1;
  for (let at = 0; at < text.length; ) {
    const char = text.charAt(at);
    if (char === '"' || char === "'") at = yield* placesInString(text, at);
    else if (char === "/") at = endOfComment(text, at);
    else {
      const outside = char === "{" && at < lastClose ? placeOutside(text, at) : undefined;
      if (outside) yield outside;
      at = outside?.end ?? at + 1;
    }
  }
};

/** @returns the offset after the string. */
function* placesInString(text: string, quote: number): Generator<Place, number> {
  const pairs = new BracePairs();
  const delimiter = text.charAt(quote);
  for (let at = quote + 1; at < text.length; ) {
    const char = text.charAt(at);
    if (char === delimiter) return at + 1;
    const { length, sign } = char === "\\" ? escapeAt(text, at) : { length: 1, sign: signOf(char) };
    const span = sign === 0 ? undefined : pairs.add(at, sign * length);
    if (span) yield placeInString(text, quote, span);
    at += length;
  }
  return text.length;
}

interface Escape {
  readonly length: number;
  /** 1 for an opening brace, -1 for a closing one, 0 for all else. */
  readonly sign: number;
}

/** A backslash before a line break counts for nothing, so it belongs to the brace that follows. */
function escapeAt(text: string, at: number): Escape {
  CONTINUATIONS.lastIndex = at;
  const skipped = CONTINUATIONS.exec(text)?.[0].length ?? 0;
  BRACE.lastIndex = at + skipped;
  const [spelled, hexadecimal, utf16, plain = ""] = BRACE.exec(text) ?? [];
  if (spelled === undefined) return { length: skipped === 0 ? 2 : skipped, sign: 0 };
  const code = hexadecimal ?? utf16;
  return { length: skipped + spelled.length, sign: signOf(code ? charOf(code) : plain) };
}

const CONTINUATIONS = /(?:\\(?:\r\n|[\n\r\u2028\u2029]))*/y;
const BRACE = /\\x(7[bd])|\\u(007[bd])|\\?([{}])/iy;

function signOf(char: string): number {
  return char === "{" ? 1 : char === "}" ? -1 : 0;
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

function placeInString(text: string, quote: number, { start, end, contentStart, contentEnd }: SpelledSpan): Place {
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
