import type { Budget } from "../expressions/budget.js";
import { type ExpressionProblem, expressionProblem } from "../expressions/expression.js";
import { parseReference } from "../expressions/reference.js";

/** What an expression of a declarative transform reads. Its template uses the same positions as the expression. */
export type StepExpression =
  /** `{{ res.<field> }}`: the destination's response. */
  | { readonly reads: "response"; readonly template: string }
  /** `{{ request.<field> }}` or `{{ req.<field> }}`: the body of the request. */
  | { readonly reads: "request"; readonly template: string }
  /** `{{ transform_identifier: '<identifier>' }}`: the result of an earlier step, as `made`. */
  | { readonly reads: "step"; readonly identifier: string; readonly template: string };

/** The message for an expression of another form. */
export const STEP_FORMS =
  "must use {{ request.<field> }} on requests, {{ res.<field> }} on responses, or {{ transform_identifier: '<identifier>' }} of an earlier step";

/** @returns undefined for an expression of another form. */
export function parseStepExpression(expression: string): StepExpression | undefined {
  if (/^\s*res(?:\W|$)/.test(expression)) return { reads: "response", template: expression };
  if (/^\s*req(?:uest)?(?:\W|$)/.test(expression)) return { reads: "request", template: expression };
  const reference = parseReference(expression);
  if ("rejected" in reference || reference.form !== "transform_identifier") return undefined;
  const bar = expression.indexOf("|");
  const filters = bar === -1 ? "" : expression.slice(bar);
  return { reads: "step", identifier: reference.name, template: `${"made".padEnd(Math.max(bar, 0))}${filters}` };
}

/** The fields of a token whose expressions the token evaluates, when it is created or read. */
const EVALUATED_BY_TOKEN: ReadonlySet<string> = new Set(["id", "mask", "search_indexes", "fingerprint_expression"]);

export function isEvaluatedByToken(field: string): boolean {
  return EVALUATED_BY_TOKEN.has(field);
}

/** Whether an expression in one of those fields is for the token itself. */
export function readsItsToken(expression: string): boolean {
  return /^-?\s*(?:data|metadata)(?:\W|$)/.test(expression);
}

/** What an expression of a step can read. */
export interface StepScope {
  readonly isResponse: boolean;
  /** The identifiers of the steps before it. */
  readonly earlier: ReadonlySet<string>;
  /** Whether it is in a field that the token to create evaluates. */
  readonly evaluatedByToken?: boolean;
}

/** Finds why an expression fails in every call: its form, its syntax, or a step that is not before its own. */
export function stepExpressionProblem(
  expression: string,
  { isResponse, earlier, evaluatedByToken = false }: StepScope,
  budget: Budget,
): ExpressionProblem | undefined {
  if (evaluatedByToken && readsItsToken(expression)) return expressionProblem(expression, budget);
  const parsed = parseStepExpression(expression);
  if (!parsed || parsed.reads === (isResponse ? "request" : "response")) return { reason: STEP_FORMS, at: 0 };
  if (parsed.reads === "step" && !earlier.has(parsed.identifier)) {
    return { reason: "must name a tokenize step before this one by its identifier", at: 0 };
  }
  // Between the blanks that it is evaluated with.
  const problem = expressionProblem(` ${parsed.template} `, budget);
  return problem && { ...problem, at: Math.max(problem.at - 1, 0) };
}
