import { invalid } from "../base/fault.js";
import { isJsonObject, type Json, type JsonObject, setOwnProperty } from "../base/json.js";
import { evaluate } from "../expressions/expression.js";
import { expressionSpans } from "../expressions/span.js";
import { setAtLocation } from "./json-location.js";
import { asText } from "./splice/place.js";
import { parseStepExpression, STEP_FORMS } from "./step-expression.js";

/** Results of earlier steps, by their identifiers. */
export type StepResults = Map<string, Json>;

/**
 * Expressions of declarative transforms: `{{ res.<field> }}` is the destination's answer, `{{
 * transform_identifier: '<identifier>' | json: '$.id' }}` the result of an earlier step.
 */
export class StepExpressions {
  readonly #remembered: StepResults;
  readonly #response: Json | undefined;

  constructor(remembered: StepResults, response: Json | undefined) {
    this.#remembered = remembered;
    this.#response = response;
  }

  object(value: JsonObject, field: string): JsonObject {
    const resolved = this.#resolve(value, field);
    return isJsonObject(resolved) ? resolved : {};
  }

  text(value: string, field: string): string {
    return asText(this.#resolve(value, field));
  }

  /** Sets a value in a JSON body, at a path of names and indexes: `$.card.token`. */
  append(body: Json, location: string, value: Json): Json {
    return setAtLocation(body, location, this.#resolve(value, "value"));
  }

  #resolve(value: Json, field: string): Json {
    if (typeof value === "string") return this.#resolveText(value, field);
    if (Array.isArray(value)) return value.map((item) => this.#resolve(item, field));
    if (!isJsonObject(value)) return value;
    const resolved: JsonObject = {};
    for (const [key, item] of Object.entries(value)) setOwnProperty(resolved, key, this.#resolve(item, field));
    return resolved;
  }

  /** A text that is one expression keeps the type of its result; within a longer text results become text. */
  #resolveText(text: string, field: string): Json {
    const spans = [...expressionSpans(text)];
    const [first] = spans;
    if (!first) return text;
    if (first.start === 0 && first.end === text.length) return this.#evaluate(first.expression, field);
    const pieces = spans.map(
      (span, index) =>
        text.slice(spans[index - 1]?.end ?? 0, span.start) + asText(this.#evaluate(span.expression, field)),
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
    if (parsed?.reads === "answer" && this.#response !== undefined) {
      return [`{{ ${parsed.template} }}`, { res: this.#response }];
    }
    if (parsed?.reads !== "step" || !this.#remembered.has(parsed.identifier)) throw invalid(field, STEP_FORMS);
    return [`{{ ${parsed.template} }}`, { made: this.#remembered.get(parsed.identifier) ?? null }];
  }
}
