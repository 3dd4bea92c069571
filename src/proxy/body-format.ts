import { placesInJson } from "./splice/json.js";
import { placesInJson5 } from "./splice/json5.js";
import type { FindPlaces } from "./splice/place.js";
import { placesInText, placesInUntypedText } from "./splice/plain.js";
import { placesInForm } from "./splice/url.js";
import { placesInXml } from "./splice/xml.js";

export type BodyFormat =
  /** One text of a known format. */
  | { readonly kind: "text"; readonly find: FindPlaces }
  /** Parts, each with a format of its own (RFC 2046). */
  | { readonly kind: "multipart"; readonly boundary: string }
  /**
   * The type is unknown, so the bytes decide: text if they are text, otherwise binary data that may still have
   * references.
   */
  | { readonly kind: "unknown" };

const UNKNOWN: BodyFormat = { kind: "unknown" };

/** One value, one per line, or a sequence of values: strings have the same syntax in all. */
const JSON_TYPE = /^(?:application|text)\/(?:x-)?(?:json|ndjson|jsonl|jsonlines|json-seq)$|\+json(?:-seq)?$/;
const JSON5_TYPE = /^(?:application|text)\/(?:x-)?json5$|\+json5$/;
const XML_TYPE = /^(?:application|text)\/xml$|\+xml$/;
/** GraphQL strings have JSON's syntax; a block string, in three quotes, is read as one that contains quotes. */
const GRAPHQL_TYPE = /^application\/graphql$/;

/** Characters of a boundary (RFC 2046, 5.1.1). A boundary with other characters is invalid. */
const BOUNDARY = /^[0-9A-Za-z'()+_,./:=? -]{0,69}[0-9A-Za-z'()+_,./:=?-]$/;

export function detectBodyFormat(contentType: string | undefined): BodyFormat {
  const type = contentMediaType(contentType);
  if (type === undefined || contentType === undefined) return UNKNOWN;
  if (JSON_TYPE.test(type) || GRAPHQL_TYPE.test(type)) return { kind: "text", find: placesInJson };
  if (JSON5_TYPE.test(type)) return { kind: "text", find: placesInJson5 };
  if (type === "application/x-www-form-urlencoded") return { kind: "text", find: placesInForm };
  if (XML_TYPE.test(type)) return { kind: "text", find: placesInXml };
  if (type === "text/plain") return { kind: "text", find: placesInUntypedText };
  if (type.startsWith("text/")) return { kind: "text", find: placesInText };
  if (!type.startsWith("multipart/")) return UNKNOWN;
  const boundary = contentParameter(contentType, "boundary");
  return boundary !== undefined && BOUNDARY.test(boundary) ? { kind: "multipart", boundary } : UNKNOWN;
}

/** Content codings of a body, from the inside out (RFC 9110, 8.4). Empty if it has none. */
export function readContentCodings(contentEncoding: string): readonly string[] {
  const names = contentEncoding.split(",").map((name) => name.trim().toLowerCase());
  return names.filter((name) => name !== "" && name !== "identity");
}

/** The charset of a content type, in lower case. */
export function contentCharset(contentType: string | undefined): string | undefined {
  return contentParameter(contentType ?? "", "charset")?.toLowerCase();
}

/** Bodies of this type reach transforms as objects; all others as text. */
export function isJsonBody(contentType: string | undefined): boolean {
  return contentMediaType(contentType) === "application/json";
}

function contentMediaType(contentType: string | undefined): string | undefined {
  return contentType?.split(";", 1)[0]?.trim().toLowerCase() || undefined;
}

/** A parameter of a type or of a Content-Disposition, without quotes. */
export function contentParameter(header: string, name: string): string | undefined {
  for (const [, key, quoted, plain] of header.matchAll(
    /;\s*([\w!#$&^.+*-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s;"]*))/g,
  )) {
    if (key?.toLowerCase() === name) return quoted?.replaceAll(/\\(.)/g, "$1") ?? plain;
  }
  return undefined;
}
