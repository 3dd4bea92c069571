import type { Json, JsonObject } from "../../../base/json.js";

/** The parameters of a call come from tenant code: each is read with its kind and its bounds. */

export function parameterText(parameters: JsonObject, name: string): string {
  const value = parameters[name];
  if (typeof value === "string") return value;
  throw new TypeError(`The "${name}" argument must be of type string.`);
}

export function optionalText(parameters: JsonObject, name: string): string | undefined {
  return present(parameters[name]) ? parameterText(parameters, name) : undefined;
}

/** @param most upper bound: a more expensive call could not be interrupted. */
export function wholeParameter(parameters: JsonObject, name: string, least: number, most: number): number {
  const value = parameters[name];
  if (typeof value === "number" && Number.isInteger(value) && value >= least && value <= most) return value;
  throw new RangeError(`The value of "${name}" is out of range. It must be >= ${least} && <= ${most}.`);
}

export function optionalWhole(parameters: JsonObject, name: string, least: number, most: number): number | undefined {
  return present(parameters[name]) ? wholeParameter(parameters, name, least, most) : undefined;
}

/** Bytes given as base64. */
export function byteParameter(parameters: JsonObject, name: string): Buffer {
  return Buffer.from(parameterText(parameters, name), "base64");
}

function present(value: Json | undefined): boolean {
  return value !== undefined && value !== null;
}
