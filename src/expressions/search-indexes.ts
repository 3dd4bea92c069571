import { invalid } from "../base/fault.js";
import type { Json } from "../base/json.js";
import { Budget } from "./budget.js";
import { evaluate, type Outcome } from "./expression.js";
import { isMalformed } from "./rejection.js";
import { scalarText } from "./scalar-text.js";

export interface IndexOptions {
  /**
   * Leaves out an expression that fails for this data: which ones fail depends on the value, which the caller may not
   * use.
   */
  readonly isQuiet?: boolean;
}

/**
 * The values that make a token findable, in the order of their expressions and without duplicates. Every expression
 * must give one non-empty value. Throws a fault on `search_indexes[n]`.
 */
export function evaluateSearchIndexes(
  expressions: readonly string[],
  data: Json,
  budget = new Budget(),
  { isQuiet = false }: IndexOptions = {},
): string[] {
  if (expressions.length === 0) return [];
  const values = expressions.flatMap((expression, position) => {
    const field = `search_indexes[${position}]`;
    const outcome = evaluate(expression, { data }, budget);
    if (isQuiet && !("rejected" in outcome && isMalformed(outcome.rejected)) && indexTextOf(outcome) === "") return [];
    const value = scalarText(outcome, field);
    if (value === "") throw invalid(field, "must evaluate to a text that is not empty");
    return value;
  });
  return [...new Set(values)];
}

/** Empty for what is no index. */
function indexTextOf(outcome: Outcome): string {
  if ("rejected" in outcome || outcome.value === null || typeof outcome.value === "object") return "";
  return String(outcome.value);
}
