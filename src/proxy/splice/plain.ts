import { expressionSpans } from "../../expressions/span.js";
import { asText, type FindPlaces } from "./place.js";

/** Text without a format of its own: values go in as they are. */
export const placesInText: FindPlaces = (text) => {
  // Nearly every header of a request has none.
  if (!text.includes("{{")) return [];
  return [...expressionSpans(text)].map(({ start, end, expression }) => ({ start, end, expression, write: asText }));
};
