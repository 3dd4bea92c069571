import { invalid } from "../base/fault.js";
import type { Json } from "../base/json.js";
import { Budget } from "./budget.js";
import { evaluate } from "./expression.js";
import { scalarText } from "./scalar-text.js";

/**
 * The values that make a token findable, in the order of their expressions and without duplicates. Every expression
 * must give one non-empty value. Throws a fault on `search_indexes[n]`.
 */
export function evaluateSearchIndexes(expressions: readonly string[], data: Json, budget = new Budget()): string[] {
  const values = expressions.map((expression, position) => {
    const field = `search_indexes[${position}]`;
    const value = scalarText(evaluate(expression, { data }, budget), field);
    if (value === "") throw invalid(field, "must evaluate to a text that is not empty");
    return value;
  });
  return [...new Set(values)];
}
