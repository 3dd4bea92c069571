import { validateHeaderValue } from "node:http";
import { invalid, invalidFields } from "../base/fault.js";
import { type Json, setOwn } from "../base/json.js";
import { Budget } from "../expressions/budget.js";
import { mapTexts, placeName } from "../expressions/json-texts.js";
import { expressionSpans } from "../expressions/span.js";
import { requireLocation } from "./json-location.js";
import { type StepScope, stepExpressionProblem } from "./step-expression.js";
import type { Transform } from "./transform.js";

/** A transform and the field that errors name it by. */
export type NamedStep = readonly [field: string, step: Transform];

/** Maximum number of problems named at once. */
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
    requireUsablePlace(step, `${field}.options`);
    for (const [place, problem] of problemsOf(step, `${field}.options`, { isResponse, earlier }, budget)) {
      setOwn(faults, place, [problem]);
      if (Object.keys(faults).length >= MAX_NAMED) throw invalidFields(faults);
    }
    if (step.type === "tokenize") earlier.add(step.identifier);
  }
  if (Object.keys(faults).length > 0) throw invalidFields(faults);
}

function requireUsablePlace(step: Transform, options: string): void {
  if (step.type === "append_json") requireLocation(step.location, `${options}.location`);
  if (step.type === "append_header" && !isHeaderValue(step.value)) {
    throw invalid(`${options}.value`, "must be a header value, without line breaks");
  }
}

function isHeaderValue(text: string): boolean {
  try {
    validateHeaderValue("value", Buffer.from(text).toString("latin1"));
    return true;
  } catch {
    return false;
  }
}

type Problem = readonly [field: string, problem: string];

function problemsOf(step: Transform, options: string, scope: StepScope, budget: Budget): Problem[] {
  switch (step.type) {
    case "tokenize":
      return problemsIn(step.token, `${options}.token`, scope, budget);
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
    const problem = problems.length < MAX_NAMED ? problemOf(text, scope, budget) : undefined;
    if (problem) problems.push([placeName(place, root), problem]);
    return null;
  });
  return problems;
}

function problemOf(text: string, scope: StepScope, budget: Budget): string | undefined {
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
