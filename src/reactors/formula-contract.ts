import { Fault, invalid, invalidFields } from "../base/fault.js";
import { isJsonObject, type Json, type JsonObject, setOwnProperty } from "../base/json.js";

export type ValueType = "string" | "boolean" | "number";

export interface ConfigurationEntry {
  readonly name: string;
  readonly description: string | undefined;
  readonly type: ValueType;
}

/** An argument that every call must have. `parent.child` is a property of an object. */
export interface RequestParameter extends ConfigurationEntry {
  readonly optional: boolean;
}

export interface FormulaContract {
  readonly configuration: readonly ConfigurationEntry[];
  readonly requestParameters: readonly RequestParameter[];
}

/** @throws {Fault} validation_failed for names that occur twice. */
export function checkContract({ configuration, requestParameters }: FormulaContract): void {
  for (const [field, entries] of [
    ["configuration", configuration],
    ["request_parameters", requestParameters],
  ] as const) {
    const seen = new Set<string>();
    for (const [index, { name }] of entries.entries()) {
      if (seen.has(name)) throw invalid(`${field}[${index}].name`, "must be unique");
      seen.add(name);
    }
  }
}

/**
 * A reactor's configuration with the types that the formula declares. Undeclared entries stay texts.
 * @throws {Fault} validation_failed naming every entry that is missing or of another type.
 */
export function typedConfiguration(contract: FormulaContract, given: Readonly<Record<string, string>>): JsonObject {
  const faults: Record<string, string[]> = {};
  const typed: JsonObject = { ...given };
  for (const { name, type } of contract.configuration) {
    const text = Object.hasOwn(given, name) ? given[name] : undefined;
    const value = text === undefined ? undefined : readAs(type, text);
    if (value === undefined) faults[`configuration.${name}`] = [`must be given as a ${type}`];
    else setOwnProperty(typed, name, value);
  }
  if (Object.keys(faults).length > 0) {
    throw new Fault("validation_failed", "Invalid Reactor Configuration", { fields: faults });
  }
  return typed;
}

function readAs(type: ValueType, text: string): Json | undefined {
  if (type === "string") return text;
  if (type === "boolean") return text === "true" ? true : text === "false" ? false : undefined;
  return text.trim() !== "" && Number.isFinite(Number(text)) ? Number(text) : undefined;
}

/**
 * Checks the arguments of a call, after references were replaced. Undeclared arguments are passed on.
 * @throws {Fault} validation_failed naming every argument that is missing or of another type.
 */
export function checkArguments(contract: FormulaContract, args: Json): void {
  const faults: Record<string, string[]> = {};
  for (const { name, type, optional } of contract.requestParameters) {
    const value = valueAt(args, name.split("."));
    const isAbsent = value === undefined || value === null;
    if (isAbsent ? !optional : typeof value !== type) faults[`args.${name}`] = [`must be a ${type}`];
  }
  if (Object.keys(faults).length > 0) throw invalidFields(faults);
}

function valueAt(value: Json | undefined, [step, ...rest]: readonly string[]): Json | undefined {
  if (step === undefined) return value;
  return isJsonObject(value) && Object.hasOwn(value, step) ? valueAt(value[step], rest) : undefined;
}
