import type { Caller } from "../access/caller.js";
import { requirePower } from "../access/power.js";
import { parseSearchQuery, type SearchExpression } from "./search/parse-query.js";

/**
 * Checks that a person may search for data: with what seeing a value needs. A match confirms a guess, and an SSN, of which
 * one index has the last four digits, is found in 110,000 searches. Applications search by their permission, also under a
 * rule that masks or redacts, such as that of a help desk, to which a caller names a number. People give the permission
 * with a second factor only.
 * @throws {Fault} second_factor_required, permission_denied; validation_failed naming `query` if it cannot be read.
 */
export function requireMaySearchData(caller: Caller, query: string): void {
  if (caller.principal.kind === "application") return;
  const expression = parseSearchQuery(query);
  if (!expression || !namesData(expression)) return;
  requirePower(caller, { needs: ["administer"], doing: "Searching for data", act: "search for data" });
}

function namesData(expression: SearchExpression): boolean {
  return expression.kind === "term" ? expression.term.field === "data" : expression.of.some(namesData);
}
