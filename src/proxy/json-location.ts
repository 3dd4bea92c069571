import { invalid } from "../base/fault.js";
import { isJsonObject, type Json, type JsonObject, setOwn } from "../base/json.js";

const STEP = /([^.[\]]+)|\['([^']+)'\]|\["([^"]+)"\]/g;

const WHOLE = /^\$?(?:\.?(?!\*(?:[.[]|$))[^.[\]]+|\[\d+\]|\['[^']+'\]|\["[^"]+"\])+$/;

const EXPECTED = "must be a path of names and indexes such as $.card.token";

/** Requires a location without wildcards, slices and filters. @throws {Fault} validation_failed naming `field`. */
export function requireLocation(location: string, field: string): void {
  if (!WHOLE.test(location.replace(/^\$/, "")) || stepsOf(location).length === 0) throw invalid(field, EXPECTED);
}

/**
 * Copies a JSON body with a value set at a path of names and indexes: `$.card.token`.
 * @throws {Fault} validation_failed for an empty path, which earlier versions stored.
 */
export function setAtLocation(body: Json, location: string, value: Json): Json {
  const steps = stepsOf(location);
  if (steps.length === 0) throw invalid("location", EXPECTED);
  return setAt(body, steps, value);
}

function stepsOf(location: string): string[] {
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
  if (isJsonObject(target)) for (const [key, item] of Object.entries(target)) setOwn(copy, key, item);
  const inner = Object.hasOwn(copy, step) ? (copy[step] ?? {}) : {};
  setOwn(copy, step, rest.length === 0 ? value : setAt(inner, rest, value));
  return copy;
}
