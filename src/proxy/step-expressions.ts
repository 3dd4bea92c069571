import { invalid } from "../base/fault.js";
import { isJsonObject, type Json, type JsonObject, setOwn } from "../base/json.js";
import { evaluate } from "../expressions/expression.js";
import { expressionFault } from "../expressions/expression-place.js";
import { parseReference } from "../expressions/reference.js";
import { expressionSpans } from "../expressions/span.js";
import { asText } from "./splice/place.js";

/** Results of earlier steps, by their identifiers. */
export type Remembered = Map<string, Json>;

/**
 * Expressions of declarative transforms (api-facts 7.4): `{{ res.<field> }}` is the destination's answer, `{{
 * transform_identifier: '<identifier>' | json: '$.id' }}` the result of an earlier step.
 */
export class StepExpressions {
  readonly #remembered: Remembered;
  readonly #response: Json | undefined;

  constructor(remembered: Remembered, response: Json | undefined) {
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
    const steps = readPath(location);
    return setAt(body, steps, this.#resolve(value, "value"));
  }

  #resolve(value: Json, field: string): Json {
    if (typeof value === "string") return this.#resolveText(value, field);
    if (Array.isArray(value)) return value.map((item) => this.#resolve(item, field));
    if (!isJsonObject(value)) return value;
    const resolved: JsonObject = {};
    for (const [key, item] of Object.entries(value)) setOwn(resolved, key, this.#resolve(item, field));
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
    if (/^\s*res(?:\W|$)/.test(expression) && this.#response !== undefined) {
      return [`{{ ${expression} }}`, { res: this.#response }];
    }
    const reference = parseReference(expression);
    if ("rejected" in reference) throw expressionFault(() => ({ field, position: undefined }), reference.rejected);
    if (reference.form !== "transform_identifier" || !this.#remembered.has(reference.name)) {
      throw invalid(
        field,
        "must use {{ res.<field> }} on answers, or {{ transform_identifier: '<identifier>' }} of an earlier step",
      );
    }
    const filters = reference.filters === null ? "" : ` | ${reference.filters}`;
    return [`{{ made${filters} }}`, { made: this.#remembered.get(reference.name) ?? null }];
  }
}

function readPath(location: string): string[] {
  const path = location.replace(/^\$\.?/, "");
  const steps = [...path.matchAll(/([^.[\]]+)|\['([^']+)'\]/g)].map(([, plain, quoted]) => plain ?? quoted ?? "");
  if (steps.length === 0) throw invalid("location", "must be a path such as $.card.token");
  return steps;
}

/** Creates missing objects on the way; an index addresses a list entry, or appends at its end. */
function setAt(target: Json, [step = "", ...rest]: readonly string[], value: Json): Json {
  if (Array.isArray(target)) {
    const index = /^\d+$/.test(step) ? Math.min(Number(step), target.length) : target.length;
    const copy = [...target];
    copy[index] = rest.length === 0 ? value : setAt(copy[index] ?? {}, rest, value);
    return copy;
  }
  const copy: JsonObject = {};
  if (isJsonObject(target)) for (const [key, item] of Object.entries(target)) setOwn(copy, key, item);
  const inner = Object.hasOwn(copy, step) ? (copy[step] ?? {}) : {};
  setOwn(copy, step, rest.length === 0 ? value : setAt(inner, rest, value));
  return copy;
}
