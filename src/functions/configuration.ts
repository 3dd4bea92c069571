import { invalid, invalidFields } from "../base/fault.js";
import { isJsonObject, type Json, setOwn } from "../base/json.js";
import { mergePatch } from "../base/merge-patch.js";

/** RFC 7386 on a map of texts: null deletes an entry, null as a whole deletes all. */
export function mergeConfiguration(current: Readonly<Record<string, string>>, patch: Json): Record<string, string> {
  if (patch === null) return {};
  if (!isJsonObject(patch)) throw invalid("configuration", "must be an object of texts");
  const faults: Record<string, string[]> = {};
  const merged: Record<string, string> = {};
  const patched = mergePatch({ ...current }, patch);
  for (const [name, value] of Object.entries(isJsonObject(patched) ? patched : {})) {
    if (typeof value === "string") setOwn(merged, name, value);
    else faults[`configuration.${name}`] = ["must be a string"];
  }
  if (Object.keys(faults).length > 0) throw invalidFields(faults);
  return merged;
}
