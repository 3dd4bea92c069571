/** Any JSON value, as plain JavaScript. */
export type Json = null | boolean | number | string | Json[] | JsonObject;

/** A JSON object. It may have own keys such as `__proto__`: copy it with {@link setOwnProperty}. */
export interface JsonObject {
  [key: string]: Json;
}

export function isJsonObject(value: Json | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The same for what was read and may be anything. */
export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((each) => typeof each === "string");
}

/** The fields of an object as texts; none of anything else. */
export function textsIn(value: Json | undefined): Record<string, string> {
  const entries = isJsonObject(value) ? Object.entries(value) : [];
  return Object.fromEntries(entries.map(([name, field]) => [name, String(field)]));
}

/** The text that a value is. Undefined: it is of another type. */
export function textIn(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

/** Whether a value is empty: null, false, undefined, or an empty text, list or object. */
export function isEmptyJson(value: Json | undefined): boolean {
  if (value === undefined || value === null || value === false || value === "") return true;
  return typeof value === "object" && Object.keys(value).length === 0;
}

/** Sets an own property even if its name is `__proto__`, where plain assignment would set the prototype. */
export function setOwnProperty<T>(target: Record<string, T>, key: string, value: T): void {
  if (key === "__proto__") {
    Object.defineProperty(target, key, { value, enumerable: true, configurable: true, writable: true });
  } else {
    target[key] = value;
  }
}
