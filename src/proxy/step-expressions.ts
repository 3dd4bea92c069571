import { invalid } from "../base/fault.js";
import { type Json, type JsonObject, setOwnProperty } from "../base/json.js";
import { evaluate } from "../expressions/expression.js";
import { mapTexts, visitTexts } from "../expressions/json-texts.js";
import { expressionSpans } from "../expressions/span.js";
import { setAtLocation } from "./json-location.js";
import { asText } from "./splice/place.js";
import { isEvaluatedByToken, parseStepExpression, readsItsToken, STEP_FORMS } from "./step-expression.js";

export type StepResults = Map<string, Json>;

export interface StepMessage {
  readonly kind: "request" | "response";
  readonly body: Json;
}

/**
 * Expressions of declarative transforms: `{{ res.<field> }}` is the destination's response, `{{ request.<field> }}` the body
 * of the request, `{{ transform_identifier: '<identifier>' | json: '$.id' }}` the result of an earlier step. A token to
 * create also has its own, such as `{{ data.number | last4 }}` in its mask.
 */
export class StepExpressions {
  readonly #remembered: StepResults;
  readonly #message: StepMessage;

  constructor(remembered: StepResults, message: StepMessage) {
    this.#remembered = remembered;
    this.#message = message;
  }

  /**
   * The request for a token. Expressions that the token evaluates itself stay. No other value brings one into its
   * field: a destination could make a mask show all of the data.
   */
  token(request: JsonObject): JsonObject {
    const resolved: JsonObject = {};
    for (const [name, value] of Object.entries(request)) {
      const field = `token.${name}`;
      const resolve = isEvaluatedByToken(name)
        ? (text: string) => this.#resolveTokenText(text, field)
        : (text: string) => this.#resolveText(text, (expression) => this.#evaluate(expression, field));
      setOwnProperty(resolved, name, mapTexts(value, resolve));
    }
    return resolved;
  }

  text(value: string, field: string): string {
    return asText(this.#resolve(value, field));
  }

  /** Sets a value in a JSON body, at a path of names and indexes: `$.card.token`. */
  append(body: Json, location: string, value: Json): Json {
    return setAtLocation(body, location, this.#resolve(value, "value"));
  }

  #resolve(value: Json, field: string): Json {
    return mapTexts(value, (text) => this.#resolveText(text, (expression) => this.#evaluate(expression, field)));
  }

  #resolveTokenText(text: string, field: string): Json {
    return this.#resolveText(text, (expression, isWhole) => {
      if (readsItsToken(expression)) return `{{${expression}}}`;
      const value = this.#evaluate(expression, field);
      // Within a longer text an object becomes text with its keys.
      if (isWhole) visitTexts(value, (inserted) => requireNoBrace(inserted, field));
      else requireNoBrace(asText(value), field);
      return value;
    });
  }

  /** A text that is one expression keeps the type of its result; within a longer text results become text. */
  #resolveText(text: string, evaluateOne: (expression: string, isWhole: boolean) => Json): Json {
    const spans = [...expressionSpans(text)];
    const [first] = spans;
    if (!first) return text;
    if (first.start === 0 && first.end === text.length) return evaluateOne(first.expression, true);
    const pieces = spans.map(
      (span, index) => text.slice(spans[index - 1]?.end ?? 0, span.start) + asText(evaluateOne(span.expression, false)),
    );
    return `${pieces.join("")}${text.slice(spans.at(-1)?.end)}`;
  }

  #evaluate(expression: string, field: string): Json {
    const [template, bindings] = this.#bind(expression, field);
    const outcome = evaluate(template, bindings);
    if ("rejected" in outcome) throw invalid(field, outcome.rejected);
    return outcome.value;
  }

  #bind(expression: string, field: string): [string, JsonObject] {
    const parsed = parseStepExpression(expression);
    const { kind, body } = this.#message;
    if (parsed?.reads === kind) {
      return [`{{ ${parsed.template} }}`, kind === "response" ? { res: body } : { request: body, req: body }];
    }
    if (parsed?.reads !== "step" || !this.#remembered.has(parsed.identifier)) throw invalid(field, STEP_FORMS);
    return [`{{ ${parsed.template} }}`, { made: this.#remembered.get(parsed.identifier) ?? null }];
  }
}

/** A single one: with a brace before it, in the text or in another value, it opens an expression. */
function requireNoBrace(inserted: string, field: string): void {
  if (inserted.includes("{")) throw invalid(field, "must not get a { from a value that it inserts");
}
