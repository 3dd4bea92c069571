import { isEmptyJson, type JsonObject } from "./json.js";
import { commonLength } from "./text-length.js";

export interface FieldNames {
  readonly known: readonly string[];
  /** Fields that request an unsupported feature, with the reason. */
  readonly unserved: ReadonlyMap<string, string>;
}

/**
 * At most this many unknown fields are checked for misspelling: no client sends more, and each is compared with all
 * known fields.
 */
const MAX_COMPARED = 50;

/**
 * Returns objections to unknown fields. Most are ignored, because newer clients send newer fields. Refused are fields
 * that request an unsupported feature, unless they are empty, and misspelt known fields: silently dropping a transform
 * or a container would go unnoticed for too long.
 */
export function unknownFieldFaults(
  object: JsonObject,
  { known, unserved }: FieldNames,
): readonly (readonly [string, string])[] {
  const unknown = Object.keys(object).filter((name) => !known.includes(name));
  return unknown.flatMap((name, index): (readonly [string, string])[] => {
    const reason = unserved.get(name);
    if (reason !== undefined) return isEmptyJson(object[name]) ? [] : [[name, `is not served: ${reason}`]];
    const meant = index < MAX_COMPARED ? suggestedField(name, known) : undefined;
    return meant === undefined || Object.hasOwn(object, meant) ? [] : [[name, `is not known; ${meant} is`]];
  });
}

export function suggestedField(name: string, known: readonly string[]): string | undefined {
  return known.find((field) => isMisspelt(name, field));
}

/** Whether a name is the field in camel case, or differs by one added, missing, swapped or wrong character. */
function isMisspelt(name: string, field: string): boolean {
  if (Math.abs(name.length - field.length) > 3) return false;
  if (plain(name) === plain(field)) return true;
  if (Math.min(name.length, field.length) < 4 || Math.abs(name.length - field.length) > 1) return false;
  const start = commonLength(name, field);
  const [one, other] = [name.slice(start), field.slice(start)];
  if (one.length !== other.length) return one.length > other.length ? one.slice(1) === other : one === other.slice(1);
  if (one.slice(2) === other.slice(2) && one[0] === other[1] && one[1] === other[0]) return true;
  // Short words are often one letter apart: code and mode, date and data.
  return field.length >= 6 && one.slice(1) === other.slice(1);
}

function plain(name: string): string {
  return name.replaceAll(/[_-]/g, "").toLowerCase();
}
