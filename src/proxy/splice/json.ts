import type { Json } from "../../base/json.js";
import { type ExpressionSpan, expressionSpans } from "../../expressions/span.js";
import { asText, type FindPlaces, type Place } from "./place.js";

/**
 * JSON: an object or array that a string consists of alone takes the place of the string, quotes included; everything
 * else stays inside the quotes, escaped. An expression outside of quotes becomes the JSON of its value. The text is not
 * parsed and written again: signatures, number spellings and key order depend on its bytes.
 */
export const placesInJson: FindPlaces = (text) => {
  const places: Place[] = [];
  let string = nextString(text, 0);
  for (const span of expressionSpans(text)) {
    while (string && string.end <= span.start) string = nextString(text, string.end);
    const isInside = string !== undefined && string.start < span.start && span.end < string.end;
    places.push(string && isInside ? placeInString(span, string) : placeOutside(span));
  }
  return places;
};

interface StringLiteral {
  /** The opening quote. */
  readonly start: number;
  /** Behind the closing quote. */
  readonly end: number;
}

function nextString(text: string, from: number): StringLiteral | undefined {
  const start = text.indexOf('"', from);
  if (start < 0) return undefined;
  let end = start;
  for (;;) {
    end = text.indexOf('"', end + 1);
    if (end < 0) return { start, end: text.length };
    let slashes = 0;
    while (text.charCodeAt(end - 1 - slashes) === 0x5c) slashes += 1;
    if (slashes % 2 === 0) return { start, end: end + 1 };
  }
}

function placeInString(span: ExpressionSpan, string: StringLiteral): Place {
  const expression = unescaped(span.expression);
  const isAlone = string.start === span.start - 1 && string.end === span.end + 1;
  if (!isAlone) return { start: span.start, end: span.end, expression, write: (value) => escaped(asText(value)) };
  return {
    start: string.start,
    end: string.end,
    expression,
    write: (value) =>
      typeof value === "object" && value !== null ? JSON.stringify(value) : `"${escaped(asText(value))}"`,
  };
}

function placeOutside({ start, end, expression }: ExpressionSpan): Place {
  return { start, end, expression, write: (value: Json) => JSON.stringify(value) };
}

function escaped(text: string): string {
  return JSON.stringify(text).slice(1, -1);
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
