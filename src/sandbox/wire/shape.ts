import { isJsonObject, type Json, type JsonObject } from "../../base/json.js";
import { exceededLimit, type JsonLimits } from "../../base/json-structure.js";
import { ProtocolError } from "./frame.js";

/**
 * Readers of JSON from the runner and from tenants' code in it, which count as hostile. An unexpected shape is a
 * ProtocolError: in a report it ends the runner, and in a call of the code it fails that call.
 */

/** Twice the 64 levels that the API accepts. Each level of a value is a recursive call. */
export const MAX_LEVELS = 128;

const DEPTH_ONLY = { depth: MAX_LEVELS, values: Number.POSITIVE_INFINITY, names: Number.POSITIVE_INFINITY };

export function parseWireJson(bytes: Buffer, limits: JsonLimits = DEPTH_ONLY): Json {
  const exceeded = exceededLimit(bytes, limits);
  if (exceeded && exceeded !== "number") throw new StructureError("a payload has too many values, names or levels");
  try {
    const value: Json = JSON.parse(bytes.toString("utf8"));
    return value;
  } catch {
    throw new ProtocolError("a payload is not JSON");
  }
}

/** Parsing the JSON, or walking it, would take too long. */
export class StructureError extends ProtocolError {}

export function object(value: Json | undefined): JsonObject {
  if (isJsonObject(value)) return value;
  throw new ProtocolError("a payload lacks an object");
}

export function list(value: Json | undefined, most: number): readonly Json[] {
  if (Array.isArray(value) && value.length <= most) return value;
  throw new ProtocolError("a payload lacks a list");
}

/** @param most in UTF-16 units. */
export function text(value: Json | undefined, most: number): string {
  if (typeof value === "string" && value.length <= most) return value;
  throw new ProtocolError("a payload lacks a text");
}

export function whole(value: Json | undefined, least: number, most: number): number {
  if (typeof value === "number" && Number.isInteger(value) && value >= least && value <= most) return value;
  throw new ProtocolError("a payload lacks a number");
}

export function oneOf<T extends string>(value: Json | undefined, known: readonly T[]): T {
  const found = known.find((candidate) => candidate === value);
  if (found === undefined) throw new ProtocolError("a payload has an unknown word");
  return found;
}

/** The own properties of an object, each parsed by `read`. The result has no prototype, so every key is safe. */
export function record<T>(value: Json | undefined, most: number, read: (value: Json) => T): Record<string, T> {
  const entries = Object.entries(object(value));
  if (entries.length > most) throw new ProtocolError("a payload has too many entries");
  const target: Record<string, T> = Object.create(null);
  for (const [key, entry] of entries) target[text(key, 1_000)] = read(entry);
  return target;
}
