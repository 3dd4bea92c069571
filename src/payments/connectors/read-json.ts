import { isJsonObject, type Json, type JsonObject } from "../../base/json.js";
import { exceededLimit, MAX_NAMES, MAX_VALUES } from "../../base/json-structure.js";

type Steps = readonly (string | number)[];

/** What stands at a path of keys and indexes; undefined where the path leads nowhere. */
export function valueAt(value: Json | undefined, ...steps: Steps): Json | undefined {
  let current = value;
  for (const step of steps) {
    if (Array.isArray(current)) current = typeof step === "number" ? current[step] : undefined;
    else if (isJsonObject(current) && Object.hasOwn(current, step)) current = current[step];
    else return undefined;
  }
  return current;
}

/** A text that is not empty. */
export function textAt(value: Json | undefined, ...steps: Steps): string | undefined {
  const found = valueAt(value, ...steps);
  return typeof found === "string" && found !== "" ? found : undefined;
}

/** A whole number. */
export function wholeAt(value: Json | undefined, ...steps: Steps): number | undefined {
  const found = valueAt(value, ...steps);
  return typeof found === "number" && Number.isSafeInteger(found) ? found : undefined;
}

export function objectAt(value: Json | undefined, ...steps: Steps): JsonObject | undefined {
  const found = valueAt(value, ...steps);
  return isJsonObject(found) ? found : undefined;
}

/** Empty where there is no list. */
export function listAt(value: Json | undefined, ...steps: Steps): readonly Json[] {
  const found = valueAt(value, ...steps);
  return Array.isArray(found) ? found : [];
}

/** Whoever has a webhook's address may send there, and some signatures stand inside of the JSON. */
const LIMITS = { depth: 64, values: MAX_VALUES, names: MAX_NAMES };

/**
 * A JSON object; a list as an object whose `items` it is; undefined for any other text, and for one that would take long to
 * parse. Some services put a byte order mark before it.
 */
export function parseObject(text: string): JsonObject | undefined {
  if (exceededLimit(Buffer.from(text), LIMITS)) return undefined;
  try {
    const value: Json = JSON.parse(text.replace(/^\uFEFF/, ""));
    if (Array.isArray(value)) return { items: value };
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** A time in ISO 8601; undefined for anything else. */
export function timeOf(text: string | undefined): Date | undefined {
  const time = text === undefined ? Number.NaN : Date.parse(text);
  return Number.isNaN(time) ? undefined : new Date(time);
}
