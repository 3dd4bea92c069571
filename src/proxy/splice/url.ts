import { asText, type FindPlaces, type Place } from "./place.js";

/** Braces as they are, or percent-encoded: clients write both. */
const OPEN = /(?:\{|%7B){2}/gi;
const CLOSE = /(?:\}|%7D){2}/gi;

/** Paths: values are percent-encoded. */
export const placesInPath: FindPlaces = (text) => encodedPlaces(text, encode, (raw) => raw);

/** Queries: clients write blanks as a plus too, and every server reads %20. */
export const placesInQuery: FindPlaces = (text) => encodedPlaces(text, encode, withBlanks);

/** Forms: a blank is a plus. */
export const placesInForm: FindPlaces = (text) =>
  encodedPlaces(text, (value) => encode(value).replaceAll("%20", "+"), withBlanks);

/** A lone surrogate has no bytes: it becomes the replacement character. */
function encode(value: string): string {
  return encodeURIComponent(value.toWellFormed());
}

function withBlanks(raw: string): string {
  return raw.replaceAll("+", " ");
}

function encodedPlaces(text: string, write: (value: string) => string, readBlanks: (raw: string) => string): Place[] {
  const places: Place[] = [];
  const opens = [...text.matchAll(OPEN)].map(({ index, 0: braces }) => ({ index, end: index + braces.length }));
  if (opens.length === 0) return places;
  let next = 0;
  let from = 0;
  for (const close of text.matchAll(CLOSE)) {
    // An expression begins at the last opening before its end, as everywhere.
    let open: { index: number; end: number } | undefined;
    for (; next < opens.length; next += 1) {
      const candidate = opens[next];
      if (!candidate || candidate.end > close.index) break;
      if (candidate.index >= from) open = candidate;
    }
    if (!open) continue;
    from = close.index + close[0].length;
    places.push({
      start: open.index,
      end: from,
      expression: decoded(readBlanks(text.slice(open.end, close.index))),
      write: (value) => write(asText(value)),
    });
  }
  return places;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
