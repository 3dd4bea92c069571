import { invalid } from "../base/fault.js";
import { isJsonObject, type Json, type JsonObject, setOwnProperty } from "../base/json.js";

const STEP = /([^.[\]]+)|\['([^']+)'\]|\["([^"]+)"\]/g;

/** A name reaches to the end of its step: otherwise the time would grow exponentially with its length. */
const WHOLE = /^\$?(?:\.?(?!\*(?:[.[]|$))[^.[\]]+(?=[.[]|$)|\[\d+\]|\['[^']+'\]|\["[^"]+"\])+$/;

/** As for JSON paths in expressions. Each step nests the body one level deeper. */
const LONGEST = 1_000;

/** What is expected of a location, worded to follow a field's name. */
export const LOCATION = `must be a path of names and indexes such as $.card.token, of at most ${LONGEST} characters`;

/** Whether a text is a path without wildcards, slices and filters. */
export function isLocation(text: string): boolean {
  return text.length <= LONGEST && WHOLE.test(text) && locationSteps(text).length > 0;
}

/**
 * Copies a JSON body with a value set at a path of names and indexes: `$.card.token`.
 * @throws {Fault} validation_failed for an empty path.
 */
export function setAtLocation(body: Json, location: string, value: Json): Json {
  const steps = locationSteps(location);
  if (steps.length === 0) throw invalid("location", LOCATION);
  return setAt(body, steps, value);
}

function locationSteps(location: string): string[] {
  const path = location.replace(/^\$\.?/, "");
  return [...path.matchAll(STEP)].map(([, plain, quoted, doubleQuoted]) => plain ?? quoted ?? doubleQuoted ?? "");
}

/** Creates missing objects on the way; an index addresses a list entry, or appends at its end. */
function setAt(target: Json, [step = "", ...rest]: readonly string[], value: Json): Json {
  if (Array.isArray(target)) {
    const index = /^\d+$/.test(step) ? Math.min(Number(step), target.length) : target.length;
    const copy = [...target];
    copy[index] = rest.length === 0 ? value : setAt(copy[index] ?? {}, rest, value);
    return copy;
  }
  const copy: JsonObject = {};
  if (isJsonObject(target)) for (const [key, item] of Object.entries(target)) setOwnProperty(copy, key, item);
  const inner = Object.hasOwn(copy, step) ? (copy[step] ?? {}) : {};
  setOwnProperty(copy, step, rest.length === 0 ? value : setAt(inner, rest, value));
  return copy;
}
