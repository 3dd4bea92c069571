import { createHash } from "node:crypto";
import { isJsonObject, type Json } from "../base/json.js";

export interface LogChange {
  /** The name in the API, such as `rules`. */
  readonly field: string;
  /** Null: nothing was there. */
  readonly before: Json;
  readonly after: Json;
  /** The two are digests, because the values are too long for a row. */
  readonly isTruncated: boolean;
}

/** Of a row. The rules of an application have at most 100,000 characters. */
const MAX_CHARACTERS = 8_192;

/**
 * What an operation changes of an entity, in the order of `after`. Only for what is neither a secret nor a value: rights,
 * roles, settings.
 * @param before the entity, or undefined for one that is created. Fields that `after` does not have are ignored.
 */
export function changesBetween(before: object | undefined, after: object): readonly LogChange[] {
  return Object.entries(after).flatMap(([name, value]) => {
    const [old, next] = [toJson(before && Reflect.get(before, name)), toJson(value)];
    if (JSON.stringify(old) === JSON.stringify(next) || isNothing(before, next)) return [];
    return [{ field: snakeCased(name), before: old, after: next, isTruncated: false }];
  });
}

/** The stored form: JSON; null without a change. Values that are too long are replaced by their SHA-256, longest first. */
export function writeChanges(changes: readonly LogChange[]): string | undefined {
  if (changes.length === 0) return undefined;
  const text = JSON.stringify(changes.map(stored));
  if (text.length <= MAX_CHARACTERS) return text;
  const lengths = changes.map((change) => (change.isTruncated ? 0 : JSON.stringify(stored(change)).length));
  const longest = lengths.indexOf(Math.max(...lengths));
  const shortened = changes.map((change, index) => (index === longest ? truncated(change) : change));
  return lengths[longest] === 0 ? undefined : writeChanges(shortened);
}

/** Reads what {@link writeChanges} wrote. Anything else is no change: the seal of the minute tells what was altered. */
export function readChanges(text: string | null): readonly LogChange[] {
  if (text === null) return [];
  const list = parsed(text);
  if (!Array.isArray(list)) return [];
  return list.flatMap((item) => {
    if (!isJsonObject(item) || typeof item.field !== "string") return [];
    const { field, before = null, after = null, truncated } = item;
    return [{ field, before, after, isTruncated: truncated === true }];
  });
}

function parsed(text: string): Json {
  try {
    const value: Json = JSON.parse(text);
    return value;
  } catch {
    return null;
  }
}

function stored({ field, before, after, isTruncated }: LogChange) {
  return { field, before, after, ...(isTruncated ? { truncated: true } : {}) };
}

function truncated({ field, before, after }: LogChange): LogChange {
  return { field, before: valueDigest(before), after: valueDigest(after), isTruncated: true };
}

function valueDigest(value: Json): Json {
  return value === null ? null : `sha256:${createHash("sha256").update(JSON.stringify(value)).digest("hex")}`;
}

/** Whether a new entity merely has nothing in a field. */
function isNothing(before: object | undefined, next: Json): boolean {
  return before === undefined && (next === null || next === false || (Array.isArray(next) && next.length === 0));
}

function toJson(value: unknown): Json {
  if (value === undefined) return null;
  const json: Json = JSON.parse(JSON.stringify(value));
  return json;
}

export function snakeCased(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
