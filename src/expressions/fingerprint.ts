import { isJsonObject, type Json, type JsonObject, setOwnProperty } from "../base/json.js";
import { Budget } from "./budget.js";
import { evaluate } from "./expression.js";
import { isMalformed } from "./rejection.js";
import { scalarText } from "./scalar-text.js";

export interface FingerprintSource {
  readonly data: Json;
  readonly metadata: Readonly<Record<string, string>> | null;
}

/**
 * The text whose keyed hash is the fingerprint. Text around expressions is kept, and an empty result is valid. Object
 * keys are sorted, so equal data has one fingerprint whatever its key order.
 * @throws {Fault} validation_failed naming `fingerprint_expression`.
 */
export function evaluateFingerprint(expression: string, source: FingerprintSource, budget = new Budget()): string {
  const bindings = { data: inOrder(source.data), metadata: source.metadata && inOrder({ ...source.metadata }) };
  return scalarText(evaluate(expression, bindings, budget), "fingerprint_expression");
}

/** Most values that are sorted, some 50 ms of work. Larger data keeps its order. */
const MAX_ORDERED = 50_000;

function inOrder(data: Json): Json {
  let left = MAX_ORDERED;
  const order = (value: Json): Json => {
    left -= 1;
    if (left < 0 || typeof value !== "object" || value === null) return value;
    if (!isJsonObject(value)) return value.map(order);
    const ordered: JsonObject = {};
    for (const key of Object.keys(value).sort()) setOwnProperty(ordered, key, order(value[key] ?? null));
    return ordered;
  };
  const ordered = order(data);
  return left < 0 ? data : ordered;
}

/** Whether an expression fails for any data. */
export function isUnusable(expression: string): boolean {
  const outcome = evaluate(expression, { data: null, metadata: null });
  return "rejected" in outcome && isMalformed(outcome.rejected);
}
