import { invalid } from "../../base/fault.js";
import { FieldFaultList } from "../../base/field-fault-list.js";
import { isJsonObject, type Json, type JsonObject, setOwnProperty } from "../../base/json.js";

/** The rule of one field of structured data. `check` returns the value to store, or undefined for an invalid one. */
export interface FieldRule {
  readonly required: boolean;
  readonly expectation: string;
  readonly check: (value: Json) => Json | undefined;
}

/** Faults include unknown names up to this many characters, enough to recognize them. */
const MAX_NAME_LENGTH = 100;

/**
 * Checks an object field by field and returns the fields in the order of `rules`: equal data is stored identically.
 * Null means absent. Fields without a rule are refused, because a misspelled field would be stored and never found.
 *
 * @throws one fault that names every invalid field as `data.<name>`.
 */
export function checkFields(data: Json, kind: string, rules: Readonly<Record<string, FieldRule>>): JsonObject {
  if (!isJsonObject(data)) throw invalid("data", `must be an object with the fields of a ${kind}`);
  const faults = new FieldFaultList();
  const checked: JsonObject = {};
  for (const [name, rule] of Object.entries(rules)) {
    const given = Object.hasOwn(data, name) ? (data[name] ?? null) : null;
    if (given === null && !rule.required) continue;
    const value = given === null ? undefined : rule.check(given);
    if (value === undefined) faults.add(`data.${name}`, rule.expectation);
    else setOwnProperty(checked, name, value);
  }
  for (const name of Object.keys(data)) {
    if (!Object.hasOwn(rules, name))
      faults.add(`data.${name.slice(0, MAX_NAME_LENGTH)}`, `is not a field of a ${kind}`);
  }
  faults.throwIfAny();
  return checked;
}

/** Accepts matching strings unchanged. */
export function textThat(matches: (text: string) => boolean): FieldRule["check"] {
  return (value) => (typeof value === "string" && matches(value) ? value : undefined);
}

/** Accepts whole numbers in a range, including its ends. */
export function wholeNumberFrom(least: number, most: number): FieldRule["check"] {
  return (value) =>
    typeof value === "number" && Number.isInteger(value) && value >= least && value <= most ? value : undefined;
}
