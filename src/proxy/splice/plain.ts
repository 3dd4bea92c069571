import { expressionSpans } from "../../expressions/span.js";
import { placesInJson } from "./json.js";
import { asText, type FindPlaces, MAX_EXPRESSIONS, type Replacement, splice } from "./place.js";

/** Text without a format of its own: values are inserted unchanged. */
export const placesInText: FindPlaces = function* (text) {
  // Nearly every request header has no expression.
  if (!text.includes("{{")) return;
  for (const { start, end, expression } of expressionSpans(text)) yield { start, end, expression, write: asText };
};

/**
 * Text of unknown format. Text that is JSON is treated as JSON: browsers send it as text/plain by default, and a value
 * with a quote in it must not become more than a value.
 */
export const placesInUntypedText: FindPlaces = (text) => (isJson(text) ? placesInJson(text) : placesInText(text));

/** The same for the beginning of a large text: if it looks like the beginning of JSON, it is JSON. */
export const placesInTextPrefix: FindPlaces = (text) =>
  BEGINS_JSON.test(text) ? placesInJson(text) : placesInText(text);

const BEGINS_JSON = /^\s*(?:\{\s*["}]|\[\s*["[{\d\]-])/;

/** Lists may begin with an expression, objects cannot: `{{` is one. */
const BEGINS_JSON_OR_EXPRESSION = /^\s*(?:\{(?!\{)|\[)/;

/** Longer texts are judged by their beginning: parsing this much takes 5 ms. */
const MAX_PARSED = 256 * 1024;

/** Whether a text is a JSON object or list once its expressions are replaced. */
function isJson(text: string): boolean {
  if (!BEGINS_JSON_OR_EXPRESSION.test(text)) return false;
  if (text.length > MAX_PARSED) return BEGINS_JSON.test(text);
  const places: Replacement[] = [];
  for (const place of placesInJson(text)) {
    // A body with this many is refused in any format.
    if (places.push(place) > MAX_EXPRESSIONS) return false;
  }
  if (places.length === 0) return false;
  try {
    const sample = places.map(() => 0);
    JSON.parse(splice(text, places, sample));
    return true;
  } catch {
    return false;
  }
}
