import { type Json, type JsonObject, setOwn } from "../base/json.js";

/** Where in a body a text stands, from the inside out; made into a name only when something is wrong there. */
export interface Place {
  readonly parent: Place | null;
  readonly key: string | number;
}

/** Keys are the caller's and may be long; a name of this many characters still tells where to look. */
const LONGEST_NAME = 200;

/** The name of a place as errors give it: `card.number`, `items[0]`. `root` names the body itself, and only itself if `null`. */
export function placeName(place: Place | null, root: string | null): string {
  const keys: (string | number)[] = [];
  for (let at = place; at !== null; at = at.parent) keys.unshift(at.key);
  const name = keys.reduce<string>(
    (path, key) => (typeof key === "number" ? `${path}[${key}]` : path === "" ? key : `${path}.${key}`),
    root ?? "",
  );
  return name === "" ? "body" : name.slice(0, LONGEST_NAME);
}

/** A copy of `value` in which each text (not the keys) is replaced by what `replace` makes of it. */
export function mapTexts(
  value: Json,
  replace: (text: string, place: Place | null) => Json,
  place: Place | null = null,
): Json {
  if (typeof value === "string") return replace(value, place);
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map((item, key) => mapTexts(item, replace, { parent: place, key }));
  const copy: JsonObject = {};
  for (const [key, item] of Object.entries(value)) setOwn(copy, key, mapTexts(item, replace, { parent: place, key }));
  return copy;
}
