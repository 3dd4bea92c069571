import type { Caller } from "../access/caller.js";
import { requirePower } from "../access/power.js";
import { parseSearchQuery, type SearchExpression } from "./search/parse-query.js";

/**
 * Checks that a person may search for data. A match confirms a guess, and an SSN, of which one index has the last four
 * digits, is found in 110,000 searches: too much for a role that sees no value. Applications search for data under a rule
 * that redacts, too, such as that of a help desk, to which a caller names a number.
 * @throws {Fault} permission_denied; validation_failed naming `query` if it cannot be read.
 */
export function requireMaySearchData(caller: Caller, query: string): void {
  if (caller.principal.kind === "application") return;
  const expression = parseSearchQuery(query);
  if (!expression || !namesData(expression)) return;
  requirePower(caller, { needs: ["handle"], doing: "Searching for data", act: "search for data" });
}

function namesData(expression: SearchExpression): boolean {
  return expression.kind === "term" ? expression.term.field === "data" : expression.of.some(namesData);
}
