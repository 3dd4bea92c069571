import { invalid } from "../base/fault.js";
import type { Json } from "../base/json.js";
import { Budget } from "./budget.js";
import { evaluate, isTemplate } from "./expression.js";
import { scalarText } from "./scalar-text.js";

/**
 * 3 to 400 characters, without the documented exceptions and without control characters, which URLs and headers cannot
 * have.
 */
const TOKEN_ID = /^[^#/\\+?[\]|&=%<>{}^\p{Cc}]{3,400}$/u;

const EXPECTED =
  "must be 3 to 400 characters, none of them one of # / \\ + ? [ ] | & = % < > { } ^, without blanks at its ends";

/** Whether `text` may be a token id. Blanks at the ends are invalid because references trim them. */
export function isTokenId(text: string): boolean {
  return TOKEN_ID.test(text) && text === text.trim() && text.isWellFormed();
}

/**
 * The id for a create request: `id` itself, or the result of its alias expression for the data. Random aliases differ
 * at each call. Throws a fault on `id`.
 */
export function evaluateTokenId(id: string, data: Json, budget = new Budget()): string {
  const tokenId = isTemplate(id) ? scalarText(evaluate(id, { data }, budget), "id") : id;
  if (!isTokenId(tokenId)) throw invalid("id", EXPECTED);
  return tokenId;
}
