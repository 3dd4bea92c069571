import { LRUCache } from "lru-cache";
import type { Json } from "../base/json.js";
import { Budget } from "./budget.js";
import { evaluateValue, type ParsedValue, parseValue } from "./engine.js";
import { stringify } from "./filters/json.js";
import { operandToJson } from "./operand.js";
import { type DrawBelow, drawSecurely } from "./random.js";
import { MisusedFilter, malformedExpression, Rejection, TOO_MUCH_WORK, unevaluable } from "./rejection.js";
import type { Bindings, Evaluation } from "./scope.js";
import { expressionSpans } from "./span.js";

export type { Bindings } from "./scope.js";

export const MAX_TEMPLATE_LENGTH = 4_096;

/** The result of an evaluation: a value, or a reason for its absence, worded to follow a field's name. */
export type Outcome = { readonly value: Json } | { readonly rejected: string };

export interface EvaluationOptions {
  /**
   * Fails with {@link FOUND_NOTHING} for a path without a match, unless a `default` follows it. Otherwise the result is
   * null.
   */
  readonly mustFind?: boolean;
  /** The source of random aliases. */
  readonly draw?: DrawBelow;
}

export function isTemplate(text: string): boolean {
  return text.includes("{{") || text.includes("{%");
}

/**
 * Evaluates a text that may have expressions. A text that is exactly one `{{ ... }}` returns its result with its type,
 * any other text a string; an object inside a longer text becomes JSON, null becomes empty. Never throws. The result
 * may share objects with `bindings`: do not change it.
 */
export function evaluate(
  text: string,
  bindings: Bindings,
  budget: Budget = new Budget(),
  { mustFind = false, draw = drawSecurely }: EvaluationOptions = {},
): Outcome {
  if (budget.exhausted) return { rejected: TOO_MUCH_WORK };
  try {
    return { value: budget.timed(() => evaluateMetered(text, { bindings, budget, mustFind, draw })) };
  } catch (error) {
    if (error instanceof Rejection) return { rejected: error.reason };
    // The engine wraps errors from below. Its own errors repeat parts of the template or the data, so no text is passed
    // on.
    return { rejected: budget.exhausted ? TOO_MUCH_WORK : unevaluable("a filter cannot use what it is given").reason };
  }
}

/** Why a text can never be evaluated, and the position of the cause, from 1. */
export interface TemplateProblem {
  readonly reason: string;
  readonly character: number;
}

/**
 * Finds why a text can never be evaluated, whatever the data: an unknown filter or one without a required argument, a tag
 * or an open brace, or its length.
 * Undefined for all others. A text that Liquid accepts without effect, such as a comma in place of a `|`, is not a
 * problem: published clients store such masks, which then show nothing.
 * @param budget pays as for evaluating the text.
 */
export function templateProblem(text: string, budget: Budget): TemplateProblem | undefined {
  try {
    payFor(text, budget);
    return compile(text).misusesFilter ? misusedFilterIn(text) : undefined;
  } catch (error) {
    if (!(error instanceof Rejection)) throw error;
    if (budget.exhausted || error instanceof UnreadableText) return { reason: error.reason, character: 1 };
    return misusedFilterIn(text);
  }
}

/** Why an expression can never be evaluated, and the position of the cause between its braces, from 0. */
export interface ExpressionProblem {
  readonly reason: string;
  readonly at: number;
}

/**
 * Finds why the text between `{{` and `}}` can never be evaluated, whatever the data. Stricter than
 * {@link templateProblem}: syntax that would be ignored in a mask is a problem, too.
 * @param budget pays as for evaluating the expression.
 */
export function expressionProblem(expression: string, budget: Budget): ExpressionProblem | undefined {
  try {
    payFor(expression, budget);
    const rejection = rejectionOf(expression);
    return rejection && { reason: rejection.reason, at: rejection instanceof MisusedFilter ? rejection.at : 0 };
  } catch (error) {
    if (!(error instanceof Rejection)) throw error;
    return { reason: error.reason, at: 0 };
  }
}

function misusedFilterIn(text: string): TemplateProblem | undefined {
  for (const { start, expression } of expressionSpans(text)) {
    const rejection = rejectionOf(expression);
    if (!(rejection instanceof MisusedFilter)) continue;
    const before = expression.startsWith("-") ? 3 : 2;
    return { reason: rejection.reason, character: start + before + rejection.at + 1 };
  }
  return undefined;
}

function rejectionOf(expression: string): Rejection | undefined {
  try {
    return parsePiece(withoutTrimming(expression)).misused;
  } catch (error) {
    if (error instanceof Rejection) return error;
    throw error;
  }
}

function evaluateMetered(text: string, evaluation: Evaluation): Json {
  payFor(text, evaluation.budget);
  return compile(text).evaluate(evaluation);
}

class UnreadableText extends Rejection {}

/** Pays for compiling a text even if it is cached, so the cache cannot change the outcome. */
function payFor(text: string, budget: Budget): void {
  if (text.length > MAX_TEMPLATE_LENGTH) {
    throw new UnreadableText(`must be an expression of at most ${MAX_TEMPLATE_LENGTH} characters`);
  }
  budget.spend(UNITS_PER_TEXT + Math.max(0, text.length - ORDINARY_LENGTH) * UNITS_PER_CHARACTER);
}

/** A text with one expression and a filter takes 2 to 3 us (measured); a mask or body may have some 5,000. */
const UNITS_PER_TEXT = 120;

/** A longer text pays by length: compiling takes up to 500 ns a character (4,000 opening brackets, measured). */
const ORDINARY_LENGTH = 100;
const UNITS_PER_CHARACTER = 12;

/** Cost of each further `{{ }}` of a text, beside its length. */
const UNITS_PER_PIECE = 20;

class Expression {
  readonly #pieces: readonly (string | ParsedValue)[];

  constructor(text: string) {
    this.#pieces = parsePieces(text);
  }

  /** Whether a filter lacks a required argument. */
  get misusesFilter(): boolean {
    return this.#pieces.some((piece) => typeof piece !== "string" && piece.misused !== undefined);
  }

  evaluate(evaluation: Evaluation): Json {
    const [only, ...others] = this.#pieces;
    if (only === undefined || typeof only === "string" || others.length > 0) return this.#join(evaluation);
    const value = this.#evaluatePiece(only, evaluation);
    evaluation.budget.produce(value);
    return value;
  }

  #join(evaluation: Evaluation): string {
    const { budget } = evaluation;
    const texts = this.#pieces.map((piece) => {
      if (typeof piece === "string") return piece;
      const value = this.#evaluatePiece(piece, evaluation);
      const shown = value === null ? "" : stringify(value, budget);
      // Counted one by one, to reach the limit before a huge text is joined.
      budget.produce(shown);
      return shown;
    });
    return texts.join("");
  }

  #evaluatePiece(piece: ParsedValue, evaluation: Evaluation): Json {
    evaluation.budget.spend(UNITS_PER_PIECE);
    return operandToJson(evaluateValue(piece, evaluation));
  }
}

/** Compiling takes about four times as long as evaluating (10 us, measured). */
const compiled = new LRUCache<string, Expression>({
  max: 5_000,
  maxSize: 1_000_000,
  sizeCalculation: (_, text) => text.length + 1,
});

function compile(text: string): Expression {
  const known = compiled.get(text);
  if (known !== undefined) return known;
  const expression = new Expression(text);
  compiled.set(text, expression);
  return expression;
}

/** Literal texts and values in order, with the blanks beside `{{-` and `-}}` removed as in Liquid. */
function parsePieces(text: string): (string | ParsedValue)[] {
  const pieces: (string | ParsedValue)[] = [];
  let from = 0;
  let trimNext = false;
  const addText = (to: number, trimEnd: boolean) => {
    const literal = requirePlain(text.slice(from, to));
    const started = trimNext ? literal.trimStart() : literal;
    const trimmed = trimEnd ? started.trimEnd() : started;
    if (trimmed !== "") pieces.push(trimmed);
  };
  for (const { start, end, expression } of expressionSpans(text)) {
    addText(start, expression.startsWith("-"));
    pieces.push(parsePiece(withoutTrimming(expression)));
    trimNext = trimsAfter(expression);
    from = end;
  }
  addText(text.length, false);
  return pieces;
}

/** The expression between `{{-` and `-}}`, which trim the text beside them. */
function withoutTrimming(expression: string): string {
  return expression.slice(expression.startsWith("-") ? 1 : 0, trimsAfter(expression) ? -1 : undefined);
}

function trimsAfter(expression: string): boolean {
  return expression.length > 1 && expression.endsWith("-");
}

function parsePiece(expression: string): ParsedValue {
  try {
    return parseValue(expression);
  } catch (error) {
    if (error instanceof Rejection) throw error;
    throw malformedExpression("it cannot be read as a value and its filters");
  }
}

function requirePlain(literal: string): string {
  if (literal.includes("{%")) throw unreadable("tags such as {% if %} are not supported");
  if (literal.includes("{{")) throw unreadable("a {{ is not closed by }}");
  return literal;
}

function unreadable(detail: string): UnreadableText {
  return new UnreadableText(malformedExpression(detail).reason);
}
