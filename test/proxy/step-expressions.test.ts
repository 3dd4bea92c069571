import { describe, expect, it } from "vitest";
import type { Json } from "../../src/base/json.js";
import { parseStepExpression } from "../../src/proxy/step-expression.js";
import { StepExpressions, type StepMessage } from "../../src/proxy/step-expressions.js";
import { faultFields } from "../expressions/faults.js";

const CARD = { number: "4242424242424242", cvc: 123, holder: null, tags: ["a", "b"] };
const ON_RESPONSE: StepMessage = { kind: "response", body: CARD };
const ON_REQUEST: StepMessage = { kind: "request", body: CARD };
const steps = (message: StepMessage = ON_RESPONSE, made: Readonly<Record<string, Json>> = { made: { id: "tok_1" } }) =>
  new StepExpressions(new Map(Object.entries(made)), message);

describe("the message that an expression of a step reads", () => {
  it.each([
    [" res.number ", "response"],
    ["res", "response"],
    ["request.a | last4", "request"],
    ["req['a']", "request"],
    ["transform_identifier: 'made'", "step"],
    ["transform_identifier: made | json: '$.id'", "step"],
    ["response.a", undefined],
    ["requests", undefined],
    ["data.number", undefined],
    ["encrypted", undefined],
  ])("is for {{%s}}: %s", (expression, reads) => {
    expect(parseStepExpression(expression)?.reads).toBe(reads);
  });
});

describe("the value of a text with expressions", () => {
  it.each<[string, Json]>([
    ["plain", "plain"],
    ["{{ res.number }}", CARD.number],
    ["{{ res.cvc }}", 123],
    ["{{ res.tags }}", ["a", "b"]],
    ["{{ res.holder }}", null],
    ["{{ res.none }}", null],
    ["{{ res.number | last4 }}", "4242"],
    ["x{{ res.cvc }}", "x123"],
    ["{{ res.cvc }} ", "123 "],
    ["{{ res.holder }}-{{ res.tags }}", '-["a","b"]'],
    ["{{ transform_identifier: 'made' | json: '$.id' }}", "tok_1"],
    ["a{{ transform_identifier: 'made' }}", 'a{"id":"tok_1"}'],
  ])("%s is %j", (text, expected) => {
    expect(steps().append({}, "$.at", text)).toEqual({ at: expected });
  });

  it("is text in a header, whatever its type", () => {
    expect([steps().text("{{ res.cvc }}", "value"), steps().text("{{ res.holder }}", "value")]).toEqual(["123", ""]);
    expect(steps().text("{{ res.tags }}", "value")).toBe('["a","b"]');
  });

  it("reads the body of a request under two names", () => {
    expect(steps(ON_REQUEST).text("{{ request.cvc }}{{ req.cvc }}", "value")).toBe("123123");
  });

  it.each([
    ["the response, on requests", ON_REQUEST, "{{ res.number }}"],
    ["the request, on responses", ON_RESPONSE, "{{ req.number }}"],
    ["a step that has not run", ON_RESPONSE, "{{ transform_identifier: 'later' }}"],
    ["a token", ON_RESPONSE, "{{ tok_1 }}"],
  ])("does not include %s", (_, message, text) => {
    expect(Object.keys(faultFields(() => steps(message).text(text, "value")) ?? {})).toEqual(["value"]);
  });
});

describe("a token that a step creates", () => {
  const token = (request: Readonly<Record<string, Json>>, message = ON_RESPONSE) =>
    steps(message).token({ ...request });

  it("gets values from the message, of every type", () => {
    const request = {
      type: "card",
      data: { number: "{{ res.number }}", cvc: "{{ res.cvc }}" },
      metadata: { all: "{{ res.tags }}" },
    };
    expect(token(request)).toEqual({
      type: "card",
      data: { number: CARD.number, cvc: 123 },
      metadata: { all: ["a", "b"] },
    });
  });

  it.each([
    ["mask", "{{ data.number | last4 }}"],
    ["mask", "{{ metadata.a }}"],
    ["id", "{{ data | alias_card }}"],
    ["fingerprint_expression", "{{data.number}}"],
    ["search_indexes", ["{{ data.number }}", "{{ data.number | last4 }}"]],
    ["mask", { number: "{{- data.number -}}" }],
  ])("evaluates the expressions of its own %s by itself: %j", (field, value) => {
    expect(token({ [field]: value })).toEqual({ [field]: value });
  });

  it("may have a value of the message beside its own expression", () => {
    expect(token({ mask: "{{ res.cvc }} {{ data.number | last4 }}" })).toEqual({
      mask: "123 {{ data.number | last4 }}",
    });
  });

  it.each<[string, Json, Json]>([
    ["an expression", "{{ data.number }}", "{{ res }}"],
    ["one brace, which another value completes", "{", "{{ res }}{{ res }}"],
    ["one brace before a brace of the text", "{", "{{ res }}{ data }}"],
    ["an expression deep within it", { list: ["{{ data }}"] }, "{{ res }}"],
    ["an object, within a text", { a: 1 }, "x {{ res }}"],
  ])("gets no expression of its own from the message: %s", (_, body, mask) => {
    const fields = faultFields(() => token({ mask }, { kind: "response", body }));
    expect(fields).toEqual({ "token.mask": ["must not get a { from a value that it inserts"] });
    expect(() => token({ data: mask }, { kind: "response", body })).not.toThrow();
  });
});
