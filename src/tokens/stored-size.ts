import { invalid } from "../base/fault.js";
import { exceededLimit, MAX_NAMES, MAX_VALUES } from "../base/json-structure.js";

/** Nesting is bounded where requests are read: a merge has the levels of its deepest part. */
const LIMITS = { depth: Number.POSITIVE_INFINITY, values: MAX_VALUES, names: MAX_NAMES };

const STRUCTURE = {
  values: `must hold at most ${MAX_VALUES} values after the patch`,
  names: `must hold at most ${MAX_NAMES} different field names after the patch`,
};

interface MergedValue {
  readonly field: string;
  readonly after: Buffer;
  /** Measures what was stored until now. */
  bytesBefore(): number;
  /** The other part of the token: of data and mask, the one that is not this value. */
  readonly otherBytes: number;
}

/**
 * Requires what a patch was merged into to stay within the limits of one request, as if the token had been sent in one:
 * each patch could add as much again, and every later read would pay for it. A stored value that exceeds them may be
 * changed as long as it does not grow.
 * @param maxBytes size limit of a request.
 * @throws {Fault} validation_failed
 */
export function requireStorable({ field, after, bytesBefore, otherBytes }: MergedValue, maxBytes: number): void {
  const excess = excessOf(after, otherBytes, maxBytes);
  if (excess !== undefined && after.length > bytesBefore()) throw invalid(field, excess);
}

function excessOf(json: Buffer, otherBytes: number, maxBytes: number): string | undefined {
  if (json.length > maxBytes) return `must have at most ${maxBytes} bytes as JSON after the patch`;
  if (json.length + otherBytes > maxBytes) {
    return `must have, with data and mask together, at most ${maxBytes} bytes as JSON after the patch`;
  }
  const exceeded = exceededLimit(json, LIMITS);
  return exceeded === "values" || exceeded === "names" ? STRUCTURE[exceeded] : undefined;
}
