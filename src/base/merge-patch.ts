import { isJsonObject, type Json, type JsonObject, setOwnProperty } from "./json.js";

/** RFC 7386 (7396): objects are merged member by member, null deletes, everything else replaces. */
export function mergePatch(target: Json | undefined, patch: Json): Json {
  if (!isJsonObject(patch)) return patch;
  const merged: JsonObject = {};
  if (isJsonObject(target)) for (const [key, value] of Object.entries(target)) setOwnProperty(merged, key, value);
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete merged[key];
    else setOwnProperty(merged, key, mergePatch(Object.hasOwn(merged, key) ? merged[key] : undefined, value));
  }
  return merged;
}
