import { invalidFields } from "../../base/fault.js";
import { Sensitive } from "../../crypto/sensitive.js";
import type { Formula, FormulaField } from "../contract/formula.js";

/** The tenant's values by the formula's keys. */
export type ConnectionFields = ReadonlyMap<string, Sensitive<string>>;

export interface GivenField {
  readonly key: string;
  readonly value?: string | undefined;
}

/**
 * An omitted secret keeps its value from `kept`; only an empty value removes it.
 * @param kept the fields of the connection that is replaced; undefined for a new one.
 * @throws {Fault} validation_failed naming each wrong or missing field by its place or key.
 */
export function readFields(formula: Formula, given: readonly GivenField[], kept?: ConnectionFields): ConnectionFields {
  const faults: Record<string, string[]> = {};
  const fields = new Map<string, Sensitive<string>>();
  const named = new Set<string>();
  for (const [index, { key, value }] of given.entries()) {
    const field = formula.fields.find((known) => known.key === key || known.aliases?.includes(key));
    const path = `fields[${index}]`;
    const fault = field
      ? fieldProblem(field, value)
      : `must be one of ${formula.fields.map(({ key: name }) => name).join(", ")}`;
    if (!field) faults[`${path}.key`] = [String(fault)];
    else if (named.has(field.key)) faults[`${path}.key`] = ["must be given once"];
    else if (value === undefined || (value === "" && !kept)) {
      faults[`${path}.value`] = ["must be a string that is not empty"];
    } else if (fault) faults[`${path}.value`] = [fault];
    else if (value !== "") fields.set(field.key, new Sensitive(value));
    if (field) named.add(field.key);
  }
  for (const { key, secret } of formula.fields) {
    const value = kept?.get(key);
    if (value && secret && !named.has(key)) fields.set(key, value);
  }
  const missing = formula.fields.filter(({ key, required }) => required && !fields.has(key)).map(({ key }) => key);
  if (missing.length > 0 && Object.keys(faults).length === 0) {
    faults.fields = [`must have a value for ${missing.join(", ")}`];
  }
  if (Object.keys(faults).length > 0) throw invalidFields(faults);
  return fields;
}

function fieldProblem({ format, choices }: FormulaField, value: string | undefined): string | undefined {
  if (!value) return undefined;
  if (choices && !choices.includes(value)) return `must be one of ${choices.join(", ")}`;
  if (format === "number" && !/^\d{1,9}$/.test(value)) return "must be a whole number";
  if (format === "boolean" && value !== "true" && value !== "false") return "must be true or false";
  // The value must be valid in a header of a provider call.
  return /^[\x20-\x7e]*$/.test(value) && value.trim() === value
    ? undefined
    : "must be printable ASCII without spaces around it";
}

export function sameFields(one: ConnectionFields, other: ConnectionFields): boolean {
  return one.size === other.size && [...one].every(([key, value]) => other.get(key)?.equals(value));
}
