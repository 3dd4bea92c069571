import { atOnce, type Steps } from "../base/caller-turns.js";
import { invalidFields } from "../base/fault.js";
import { type Json, type JsonObject, setOwnProperty } from "../base/json.js";
import type { Budget } from "../expressions/budget.js";
import { evaluate, isTemplate, templateProblem } from "../expressions/expression.js";
import { mapTexts, placeName } from "../expressions/json-texts.js";
import { SharedBudget } from "../expressions/shared-budget.js";
import type { TokenType } from "./types/token-type.js";

/**
 * Evaluates a mask's expressions and keeps everything else as it is. A mask is evaluated at each read and follows later
 * changes of the data. An object entry whose expression finds no value is left out.
 *
 * A mask never fails and never shows more than it says: an expression that cannot be parsed or evaluated shows null.
 */
export function evaluateMask(mask: Json, data: Json, budget = new SharedBudget()): Json {
  return budget.run((share) => atOnce(show(mask, data, share))) ?? null;
}

/** The same, in as many turns as it needs. */
export async function evaluateMaskInTurns(mask: Json, data: Json, budget = new SharedBudget()): Promise<Json> {
  return (await budget.runInTurns((share) => show(mask, data, share))) ?? null;
}

/** The token's data masked by its own mask, or by its type's if it has none. The type must have a mask then. */
export function maskData(type: TokenType, own: Json | undefined, data: Json, budget?: SharedBudget): Json {
  const plain = own === undefined ? type.maskInCode?.(data) : undefined;
  return plain ?? evaluateMask(own ?? type.mask, data, budget);
}

/** Maximum number of problems named for one mask. */
const MAX_NAMED = 20;

/**
 * Refuses a mask that can never show anything, because an expression is unreadable or names an unknown filter.
 * @throws {Fault} validation_failed naming each place below `mask`, and the character there.
 */
export function requireEvaluable(mask: Json, budget: Budget): void {
  const faults: Record<string, string[]> = {};
  let named = 0;
  mapTexts(mask, (text, place) => {
    const problem = named < MAX_NAMED && isTemplate(text) ? templateProblem(text, budget) : undefined;
    if (problem) {
      named += 1;
      setOwnProperty(faults, placeName(place, "mask"), [`${problem.reason} (character ${problem.character})`]);
    }
    return null;
  });
  if (named > 0) throw invalidFields(faults);
}

/** Undefined if there is no value to show. Each expression is a step. */
function* show(mask: Json, data: Json, budget: Budget): Steps<Json | undefined> {
  if (typeof mask === "string") {
    if (!isTemplate(mask)) return mask;
    yield;
    return showText(mask, data, budget);
  }
  if (typeof mask !== "object" || mask === null) return mask;
  if (Array.isArray(mask)) {
    const items: Json[] = [];
    for (const item of mask) items.push((yield* show(item, data, budget)) ?? null);
    return items;
  }
  const shown: JsonObject = {};
  for (const [key, entry] of Object.entries(mask)) {
    const value = yield* show(entry, data, budget);
    if (value !== undefined) setOwnProperty(shown, key, value);
  }
  return shown;
}

function showText(text: string, data: Json, budget: Budget): Json | undefined {
  const outcome = evaluate(text, { data }, budget);
  if ("rejected" in outcome) return null;
  return outcome.value ?? undefined;
}
