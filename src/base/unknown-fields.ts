import { isEmptyJson, type JsonObject } from "./json.js";

/** The fields of a kind of object. */
export interface FieldNames {
  readonly known: readonly string[];
  /** Fields that ask for what is not served, with the reason. */
  readonly unserved: ReadonlyMap<string, string>;
}

/** Of so many unknown fields the spelling is looked at: no client sends more, and each is compared with all known ones. */
const MOST_COMPARED = 50;

/**
 * What to say of fields that are not known. Most are ignored, since clients send newer ones. Refused are those that ask for
 * something that is not served, unless they are empty, and those that are a known field misspelt: a transform or a container that
 * is dropped without a word would be missed too late.
 */
export function objectionsTo(
  object: JsonObject,
  { known, unserved }: FieldNames,
): readonly (readonly [string, string])[] {
  const unknown = Object.keys(object).filter((name) => !known.includes(name));
  return unknown.flatMap((name, index): (readonly [string, string])[] => {
    const reason = unserved.get(name);
    if (reason !== undefined) return isEmptyJson(object[name]) ? [] : [[name, `is not served: ${reason}`]];
    const meant = index < MOST_COMPARED ? known.find((field) => isMisspelt(name, field)) : undefined;
    return meant === undefined || Object.hasOwn(object, meant) ? [] : [[name, `is not known; ${meant} is`]];
  });
}

/** Whether a name is another one in camel case, or has one character more, less, swapped or mistaken. */
function isMisspelt(name: string, field: string): boolean {
  if (Math.abs(name.length - field.length) > 3) return false;
  if (plain(name) === plain(field)) return true;
  if (Math.min(name.length, field.length) < 4 || Math.abs(name.length - field.length) > 1) return false;
  const start = lengthOfCommonStart(name, field);
  const [one, other] = [name.slice(start), field.slice(start)];
  if (one.length !== other.length) return one.length > other.length ? one.slice(1) === other : one === other.slice(1);
  if (one.slice(2) === other.slice(2) && one[0] === other[1] && one[1] === other[0]) return true;
  // Short words are often one letter apart: code and mode, date and data.
  return field.length >= 6 && one.slice(1) === other.slice(1);
}

function plain(name: string): string {
  return name.replaceAll(/[_-]/g, "").toLowerCase();
}

function lengthOfCommonStart(one: string, other: string): number {
  let length = 0;
  while (length < one.length && one[length] === other[length]) length += 1;
  return length;
}
