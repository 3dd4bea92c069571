import { Fault } from "../base/fault.js";
import type { Json } from "../base/json.js";
import type { Budget } from "../expressions/budget.js";
import { evaluateFingerprint } from "../expressions/fingerprint.js";
import { evaluateSearchIndexes } from "../expressions/search-indexes.js";
import type { TokenAttributes } from "./token.js";

/**
 * The attributes of a template without the expressions that have no result for this value. The author of a template
 * cannot know every value, and a failure would tell a page something of it.
 * @param data without a verification code.
 */
export function usableAttributes(attributes: TokenAttributes, data: Json, budget: Budget): TokenAttributes {
  const { searchIndexes, fingerprintExpression, ...others } = attributes;
  const indexes = searchIndexes?.filter((text) => unlessFault(() => evaluateSearchIndexes([text], data, budget)));
  const source = { data, metadata: attributes.metadata ?? null };
  const isUsable =
    fingerprintExpression !== undefined &&
    Boolean(unlessFault(() => evaluateFingerprint(fingerprintExpression, source, budget)));
  return {
    ...others,
    ...(indexes ? { searchIndexes: indexes } : {}),
    ...(isUsable ? { fingerprintExpression } : {}),
  };
}

/** Undefined in place of a fault. */
export function unlessFault<T>(run: () => T): T | undefined {
  try {
    return run();
  } catch (error) {
    if (error instanceof Fault) return undefined;
    throw error;
  }
}
