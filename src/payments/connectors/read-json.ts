import { isJsonObject, type Json, type JsonObject } from "../../base/json.js";
import { exceededLimit, MAX_NAMES, MAX_VALUES } from "../../base/json-structure.js";

type Steps = readonly (string | number)[];

/** The value at a path of keys and indexes; undefined if the path does not exist. */
export function valueAt(value: Json | undefined, ...steps: Steps): Json | undefined {
  let current = value;
  for (const step of steps) {
    if (Array.isArray(current)) current = typeof step === "number" ? current[step] : undefined;
    else if (isJsonObject(current) && Object.hasOwn(current, step)) current = current[step];
    else return undefined;
  }
  return current;
}

/** A string that is not empty. */
export function textAt(value: Json | undefined, ...steps: Steps): string | undefined {
  const found = valueAt(value, ...steps);
  return typeof found === "string" && found !== "" ? found : undefined;
}

export function wholeAt(value: Json | undefined, ...steps: Steps): number | undefined {
  const found = valueAt(value, ...steps);
  return typeof found === "number" && Number.isSafeInteger(found) ? found : undefined;
}

export function objectAt(value: Json | undefined, ...steps: Steps): JsonObject | undefined {
  const found = valueAt(value, ...steps);
  return isJsonObject(found) ? found : undefined;
}

/** Empty if there is no list. */
export function listAt(value: Json | undefined, ...steps: Steps): readonly Json[] {
  const found = valueAt(value, ...steps);
  return Array.isArray(found) ? found : [];
}

/**
 * Anyone who knows a webhook's address may send to it, and JSON with its signature inside is parsed unverified.
 */
const LIMITS = { depth: 64, values: MAX_VALUES, names: MAX_NAMES };

/**
 * A JSON object; a list becomes an object with the list as `items`. Undefined for any other text, and for JSON that
 * would take too long to parse. Skips the byte order mark that some services put first.
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
export function parseProviderTime(text: string | undefined): Date | undefined {
  const time = text === undefined ? Number.NaN : Date.parse(text);
  return Number.isNaN(time) ? undefined : new Date(time);
}
