import { validateHeaderValue } from "node:http";
import { invalidFields } from "../base/fault.js";
import { type Json, setOwnProperty } from "../base/json.js";
import { Budget } from "../expressions/budget.js";
import { mapTexts, placeName } from "../expressions/json-texts.js";
import { expressionSpans } from "../expressions/span.js";
import { isLocation, LOCATION } from "./json-location.js";
import { isEvaluatedByToken, type StepScope, stepExpressionProblem } from "./step-expression.js";
import type { Step } from "./transform.js";

export type NamedStep = readonly [field: string, step: Step];

/** Once this many problems are found, no further step is checked. */
const MAX_NAMED = 20;

/**
 * Checks what declarative steps of one direction insert, and where. An expression that can never be evaluated would fail
 * every call through the proxy.
 * @param steps in order of execution.
 * @throws {Fault} validation_failed naming each place, and the character there.
 */
export function requireUsableSteps(steps: readonly NamedStep[], isResponse: boolean): void {
  const faults: Record<string, string[]> = {};
  const earlier = new Set<string>();
  const budget = new Budget();
  for (const [field, step] of steps) {
    const options = `${field}.options`;
    const problems = [...placeProblems(step, options), ...problemsOf(step, options, { isResponse, earlier }, budget)];
    for (const [place, problem] of problems) setOwnProperty(faults, place, [problem]);
    if (Object.keys(faults).length >= MAX_NAMED) break;
    if (step.type === "tokenize") earlier.add(step.identifier);
  }
  if (Object.keys(faults).length > 0) throw invalidFields(faults);
}

type Problem = readonly [field: string, problem: string];

function placeProblems(step: Step, options: string): Problem[] {
  if (step.type === "append_json" && !isLocation(step.location)) return [[`${options}.location`, LOCATION]];
  if (step.type === "append_header" && !isHeaderValue(step.value)) {
    return [[`${options}.value`, "must be a header value, without line breaks"]];
  }
  return [];
}

function isHeaderValue(text: string): boolean {
  try {
    validateHeaderValue("value", Buffer.from(text).toString("latin1"));
    return true;
  } catch {
    return false;
  }
}

function problemsOf(step: Step, options: string, scope: StepScope, budget: Budget): Problem[] {
  switch (step.type) {
    case "tokenize":
      return Object.entries(step.token).flatMap(([name, value]) =>
        problemsIn(value, `${options}.token.${name}`, { ...scope, evaluatedByToken: isEvaluatedByToken(name) }, budget),
      );
    case "append_json":
    case "append_header":
      return problemsIn(step.value, `${options}.value`, scope, budget);
    case "code":
    case "mask":
      return [];
  }
}

function problemsIn(value: Json, root: string, scope: StepScope, budget: Budget): Problem[] {
  const problems: Problem[] = [];
  mapTexts(value, (text, place) => {
    const problem = problems.length < MAX_NAMED ? expressionProblem(text, scope, budget) : undefined;
    if (problem) problems.push([placeName(place, root), problem]);
    return null;
  });
  return problems;
}

function expressionProblem(text: string, scope: StepScope, budget: Budget): string | undefined {
  let end = 0;
  for (const span of expressionSpans(text)) {
    const opened = text.slice(end, span.start).indexOf("{{");
    if (opened !== -1) return notClosed(end + opened);
    const problem = stepExpressionProblem(span.expression, scope, budget);
    if (problem) return atCharacter(problem.reason, span.start + "{{".length + problem.at);
    end = span.end;
  }
  const opened = text.indexOf("{{", end);
  return opened === -1 ? undefined : notClosed(opened);
}

function notClosed(index: number): string {
  return atCharacter("must be a valid expression: a {{ is not closed by }}", index);
}

function atCharacter(reason: string, index: number): string {
  return `${reason} (character ${index + 1})`;
}
