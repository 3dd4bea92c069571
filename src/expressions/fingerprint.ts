import type { Json } from "../base/json.js";
import { Budget } from "./budget.js";
import { evaluate } from "./expression.js";
import { scalarText } from "./scalar-text.js";

/** What a fingerprint expression can see of its token. */
export interface FingerprintSource {
  readonly data: Json;
  readonly metadata: Readonly<Record<string, string>> | null;
}

/**
 * The text whose keyed hash is the fingerprint. Text around expressions is kept; an empty result is a text too. Throws a
 * fault on `fingerprint_expression`.
 */
export function evaluateFingerprint(expression: string, source: FingerprintSource, budget = new Budget()): string {
  const bindings = { data: source.data, metadata: source.metadata === null ? null : { ...source.metadata } };
  return scalarText(evaluate(expression, bindings, budget), "fingerprint_expression");
}
