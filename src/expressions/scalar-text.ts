import { invalid } from "../base/fault.js";
import type { Outcome } from "./expression.js";

/** The text of a scalar result: numbers and booleans count, null and objects do not. Throws a fault on `field`. */
export function scalarText(outcome: Outcome, field: string): string {
  if ("rejected" in outcome) throw invalid(field, outcome.rejected);
  const { value } = outcome;
  if (value === null || typeof value === "object") {
    throw invalid(field, `must evaluate to a text, not to ${value === null ? "null" : "an object or a list"}`);
  }
  return String(value);
}
