import type { Json } from "../../base/json.js";
import { endOfJsonString } from "../../base/json-string.js";
import { type ExpressionSpan, expressionSpans } from "../../expressions/span.js";
import { asText, type FindPlaces, type Place } from "./place.js";

/**
 * JSON: an object or array that a string consists of alone takes the place of the string, quotes included; everything
 * else stays inside the quotes, escaped. An expression outside of quotes becomes the JSON of its value. The text is not
 * parsed and written again: signatures, number spellings and key order depend on its bytes.
 *
 * An expression stands within one string, or outside of all: braces that open in one string and close in another are text.
 */
export const placesInJson: FindPlaces = (text) => {
  const places: Place[] = [];
  const quoteFrom = finder(text, '"');
  const openFrom = finder(text, "{{");
  const closeFrom = finder(text, "}}");
  for (let at = 0; ; ) {
    const quote = quoteFrom(at);
    const open = openFrom(at);
    if (open < 0) return places;
    if (quote >= 0 && quote < open) {
      const end = endOfJsonString(text, quote);
      if (open < end) places.push(...placesInString(text, quote, end));
      at = end;
    } else {
      const close = closeFrom(open + 2);
      if (close >= 0) places.push(placeOutside(text, text.lastIndexOf("{{", close - 2), close));
      at = close < 0 ? open + 2 : close + 2;
    }
  }
};

/** Finds the next occurrence from positions that only grow: the text is searched once, whatever it holds. */
function finder(text: string, wanted: string): (from: number) => number {
  let found = text.indexOf(wanted);
  return (from) => {
    if (found >= 0 && found < from) found = text.indexOf(wanted, from);
    return found;
  };
}

function placesInString(text: string, start: number, end: number): Place[] {
  const isClosed = end - start > 1 && text.charCodeAt(end - 1) === 0x22;
  const content = text.slice(start + 1, isClosed ? end - 1 : end);
  return [...expressionSpans(content)].map((span) => {
    const isAlone = isClosed && span.start === 0 && span.end === content.length;
    return isAlone ? placeOfString(span, start, end) : placeInString(span, start + 1);
  });
}

function placeInString({ start, end, expression }: ExpressionSpan, offset: number): Place {
  return {
    start: start + offset,
    end: end + offset,
    expression: unescaped(expression),
    write: (value) => escaped(asText(value)),
  };
}

function placeOfString({ expression }: ExpressionSpan, start: number, end: number): Place {
  return {
    ...{ start, end },
    expression: unescaped(expression),
    write: (value) =>
      typeof value === "object" && value !== null ? JSON.stringify(value) : `"${escaped(asText(value))}"`,
  };
}

function placeOutside(text: string, start: number, close: number): Place {
  return {
    ...{ start, end: close + 2 },
    expression: text.slice(start + 2, close),
    write: (value: Json) => JSON.stringify(value),
  };
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
