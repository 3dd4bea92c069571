import { invalid } from "../base/fault.js";
import { FieldFaultList } from "../base/field-fault-list.js";
import { isJsonObject, type Json, setOwnProperty } from "../base/json.js";
import { mergePatch } from "../base/merge-patch.js";

/** The same limit as in the protos. */
const MAX_ENTRIES = 100;

/** Of all names and values together. Every run gets them, and a page of a list shows those of 100 functions. */
const MAX_CHARACTERS = 100_000;

/** @throws {Fault} validation_failed for a configuration that is too large, in one request or by many patches. */
export function requireConfigurationSize(configuration: Readonly<Record<string, string>>): void {
  const sizes = Object.entries(configuration).map(([name, value]) => name.length + value.length);
  const size = sizes.reduce((sum, each) => sum + each, 0);
  if (size > MAX_CHARACTERS) throw invalid("configuration", `must have at most ${MAX_CHARACTERS} characters in all`);
}

/** Merges by RFC 7386: a null entry deletes an entry, a null patch deletes all. */
export function mergeConfiguration(current: Readonly<Record<string, string>>, patch: Json): Record<string, string> {
  if (patch === null) return {};
  if (!isJsonObject(patch)) throw invalid("configuration", "must be an object of strings");
  const faults = new FieldFaultList();
  const merged: Record<string, string> = {};
  const patched = mergePatch({ ...current }, patch);
  for (const [name, value] of Object.entries(isJsonObject(patched) ? patched : {})) {
    if (typeof value !== "string") faults.add(`configuration.${name}`, "must be a string");
    else if (`${name}${value}`.includes("\0"))
      faults.add(`configuration.${name}`, "must be a string without NUL characters");
    else setOwnProperty(merged, name, value);
  }
  if (Object.keys(merged).length > MAX_ENTRIES) faults.add("configuration", `must have at most ${MAX_ENTRIES} entries`);
  faults.throwIfAny();
  return merged;
}
