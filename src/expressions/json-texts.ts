import { type Json, type JsonObject, setOwnProperty } from "../base/json.js";

/** The path of a text in a body, from the inside out; formatted only for errors. */
export interface JsonLocation {
  readonly parent: JsonLocation | null;
  readonly key: string | number;
}

/** Keys are the caller's and may be long; 200 characters identify the place. */
const MAX_NAME_LENGTH = 200;

/**
 * The name of a place in errors: `card.number`, `items[0]`. `root` names the body itself; with `null` paths begin at
 * its keys.
 */
export function placeName(place: JsonLocation | null, root: string | null): string {
  const keys: (string | number)[] = [];
  for (let at = place; at !== null; at = at.parent) keys.unshift(at.key);
  const name = keys.reduce<string>(
    (path, key) => (typeof key === "number" ? `${path}[${key}]` : path === "" ? key : `${path}.${key}`),
    root ?? "",
  );
  return name === "" ? "body" : name.slice(0, MAX_NAME_LENGTH);
}

/** Calls `visit` for each text (not the keys) of `value`, in order. */
export function visitTexts(
  value: Json,
  visit: (text: string, place: JsonLocation | null) => void,
  place: JsonLocation | null = null,
): void {
  if (typeof value === "string") visit(value, place);
  if (typeof value !== "object" || value === null) return;
  const keys = Array.isArray(value) ? value.keys() : Object.keys(value);
  for (const key of keys) {
    const item = Array.isArray(value) ? value[Number(key)] : value[key];
    // Most values have no text: a place is made only for one that may.
    if (typeof item === "string" || (typeof item === "object" && item !== null)) {
      visitTexts(item, visit, { parent: place, key });
    }
  }
}

/** Copies `value` with each text (not the keys) replaced by the result of `replace`. */
export function mapTexts(
  value: Json,
  replace: (text: string, place: JsonLocation | null) => Json,
  place: JsonLocation | null = null,
): Json {
  if (typeof value === "string") return replace(value, place);
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map((item, key) => mapTexts(item, replace, { parent: place, key }));
  const copy: JsonObject = {};
  for (const [key, item] of Object.entries(value))
    setOwnProperty(copy, key, mapTexts(item, replace, { parent: place, key }));
  return copy;
}
