import { expressionSpans } from "../../expressions/span.js";
import { asText, type FindPlaces } from "./place.js";

const ENTITIES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&apos;",
};
const NAMES: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'" };

/** XML: values are escaped so that they are text wherever they stand, in an element or in an attribute. */
export const placesInXml: FindPlaces = (text) =>
  [...expressionSpans(text)].map(({ start, end, expression }) => ({
    ...{ start, end, expression: unescaped(expression) },
    write: (value) => asText(value).replaceAll(/[&<>"']/g, (char) => ENTITIES[char] ?? char),
  }));

function unescaped(text: string): string {
  return text.replaceAll(/&(amp|lt|gt|quot|apos);/g, (whole, name: string) => NAMES[name] ?? whole);
}
