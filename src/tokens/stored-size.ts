import { invalid } from "../base/fault.js";
import { exceededLimit, MAX_NAMES, MAX_VALUES } from "../base/json-structure.js";

/** Nesting is bounded where requests are read: a merge has the levels of its deepest part. */
const LIMITS = { depth: Number.POSITIVE_INFINITY, values: MAX_VALUES, names: MAX_NAMES };

const STRUCTURE = {
  values: `must hold at most ${MAX_VALUES} values after the patch`,
  names: `must hold at most ${MAX_NAMES} different field names after the patch`,
};

/**
 * Requires what a patch was merged into to stay within the limits of one request, as if it had been sent in one: each
 * patch could add as much again, and every later read would pay for it. A stored value that exceeds them may be changed
 * as long as it does not grow.
 * @param field that was patched.
 * @param after the merged value as JSON.
 * @param bytesBefore measures what was stored until now.
 * @param mostBytes size limit of a request.
 * @throws {Fault} validation_failed
 */
export function requireStorable(field: string, after: Buffer, bytesBefore: () => number, mostBytes: number): void {
  const excess = excessOf(after, mostBytes);
  if (excess !== undefined && after.length > bytesBefore()) throw invalid(field, excess);
}

function excessOf(json: Buffer, mostBytes: number): string | undefined {
  if (json.length > mostBytes) return `must have at most ${mostBytes} bytes as JSON after the patch`;
  const exceeded = exceededLimit(json, LIMITS);
  return exceeded === "values" || exceeded === "names" ? STRUCTURE[exceeded] : undefined;
}
