import { Drop, toValue } from "liquidjs";
import type { Json, JsonObject } from "../base/json.js";
import { unevaluable } from "./rejection.js";

/** The values between filters: JSON, or the bytes that `hmac` returns and an encoder converts to text. */
export type Operand = Json | Uint8Array;

/**
 * Accepts a value from the template engine. Its values are our data or filter results, so objects are trusted to be
 * JSON; a missing value becomes null, negative zero becomes zero, and values without JSON form (NaN, infinities) are
 * rejected.
 */
export function toOperand(value: unknown): Operand {
  if (value === undefined || value === null) return null;
  if (typeof value === "string" || typeof value === "boolean") return value;
  if (typeof value === "number") return numberOfJson(value);
  if (value instanceof Drop) return toOperand(toValue(value));
  if (value instanceof Uint8Array) return value;
  if (isArrayOfJson(value)) return value.every(isClean) ? value : value.map(operandToJson);
  if (isObjectOfJson(value)) return value;
  throw unevaluable("the result is not a JSON value");
}

/** As {@link toOperand}, where bytes are invalid. */
export function operandToJson(value: unknown): Json {
  const operand = toOperand(value);
  if (operand instanceof Uint8Array) throw unevaluable("bytes must be encoded by to_base16 or to_base64");
  return operand;
}

/** The text of a scalar; `filter` is named in the error. */
export function operandText(operand: Operand, filter: string): string {
  if (typeof operand === "string") return operand;
  if (typeof operand === "number" || typeof operand === "boolean") return String(operand);
  throw unevaluable(`${filter} needs a text`);
}

function numberOfJson(value: number): number {
  if (!Number.isFinite(value)) throw unevaluable("the result is not a number");
  return isSignedZero(value) ? 0 : value;
}

function isClean(item: unknown): boolean {
  if (typeof item === "number") return Number.isFinite(item) && !isSignedZero(item);
  return item !== undefined && !(item instanceof Uint8Array);
}

function isSignedZero(value: number): boolean {
  return Object.is(value, -0);
}

function isArrayOfJson(value: unknown): value is Json[] {
  return Array.isArray(value);
}

function isObjectOfJson(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null;
}
