import { placesInJson } from "./splice/json.js";
import type { FindPlaces } from "./splice/place.js";
import { placesInText } from "./splice/plain.js";
import { placesInForm } from "./splice/url.js";
import { placesInXml } from "./splice/xml.js";

/**
 * How expressions are found in a body, or undefined for a body that is passed on unread: everything that is not text,
 * and everything encoded.
 */
export function bodyPlaces(
  contentType: string | undefined,
  contentEncoding: string | undefined,
): FindPlaces | undefined {
  if (contentEncoding !== undefined && contentEncoding.trim().toLowerCase() !== "identity") return undefined;
  const type = mediaTypeOf(contentType);
  if (type === undefined) return undefined;
  if (type === "application/json" || type === "text/json" || type.endsWith("+json")) return placesInJson;
  if (type === "application/x-www-form-urlencoded") return placesInForm;
  if (type === "application/xml" || type === "text/xml" || type.endsWith("+xml")) return placesInXml;
  return type.startsWith("text/") ? placesInText : undefined;
}

/** Bodies of this type reach transforms as objects; all others as text (specification, Transforms). */
export function isJsonBody(contentType: string | undefined): boolean {
  return mediaTypeOf(contentType) === "application/json";
}

function mediaTypeOf(contentType: string | undefined): string | undefined {
  return contentType?.split(";", 1)[0]?.trim().toLowerCase() || undefined;
}
