import { invalid } from "../base/fault.js";
import type { Json } from "../base/json.js";
import { Budget } from "./budget.js";
import { evaluate, isTemplate } from "./expression.js";
import { scalarText } from "./scalar-text.js";

/** 3 to 400 characters, none of the documented exceptions, and no control characters, which no URL or header carries. */
const TOKEN_ID = /^[^#/\\+?[\]|&=%<>{}^\p{Cc}]{3,400}$/u;

const EXPECTED =
  "must be 3 to 400 characters, none of them one of # / \\ + ? [ ] | & = % < > { } ^, without blanks at its ends";

/** Whether `text` may be the id of a token. Blanks at the ends are out because references trim them. */
export function isTokenId(text: string): boolean {
  return TOKEN_ID.test(text) && text === text.trim() && text.isWellFormed();
}

/**
 * The id that a create request asks for: `id` as it is, or what the alias expression in it makes of the data. Random
 * aliases differ at each call. Throws a fault on `id`.
 */
export function evaluateTokenId(id: string, data: Json, budget = new Budget()): string {
  const tokenId = isTemplate(id) ? scalarText(evaluate(id, { data }, budget), "id") : id;
  if (!isTokenId(tokenId)) throw invalid("id", EXPECTED);
  return tokenId;
}
