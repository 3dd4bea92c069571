import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Json } from "../../src/base/json.js";
import { Budget } from "../../src/expressions/budget.js";
import { evaluateValue, type ParsedValue, parseValue } from "../../src/expressions/engine.js";
import { operandToJson } from "../../src/expressions/operand.js";
import { drawSecurely } from "../../src/expressions/random.js";
import { Rejection } from "../../src/expressions/rejection.js";

const NAMES = ["number", "a", "b-c", "size", "first", "last", "length", "__proto__", "constructor", "toString"];
const PATHS = [
  "$",
  "$.a",
  "$['b-c']",
  "$.a.number",
  "$[0]",
  "$[-1]",
  "$.a[1]",
  "$.*",
  "$..a",
  "$.a[?@.a]",
  "$.length",
  "a",
  "",
];

const name = fc.constantFrom(...NAMES);
const value: fc.Arbitrary<Json> = fc.letrec<{ value: Json }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom<Json>(null, true, 0, -1.5, "", "4242", "size"),
    fc.array(tie("value"), { maxLength: 3 }),
    fc.dictionary(name, tie("value"), { maxKeys: 4 }),
  ),
})).value;
/** `data.a["b-c"]`, with a JSON path behind it or not. */
const reference = fc
  .tuple(fc.array(fc.tuple(name, fc.boolean()), { maxLength: 3 }), fc.option(fc.constantFrom(...PATHS)))
  .map(([names, path]) => {
    const steps = names.map(([each, isQuoted]) => (isQuoted ? `["${each}"]` : `.${each}`)).join("");
    return `data${steps}${path === null ? "" : ` | json: ${JSON.stringify(path)}`}`;
  });

function outcome(parsed: ParsedValue, data: Json, mustFind: boolean) {
  const evaluation = { bindings: { data }, budget: new Budget(), mustFind, draw: drawSecurely };
  try {
    return { value: operandToJson(evaluateValue(parsed, evaluation)) };
  } catch (error) {
    if (!(error instanceof Rejection)) throw error;
    return { rejected: error.message };
  }
}

describe("a value that is no more than a path", () => {
  it("is what the engine makes of it, or fails as it does there", () => {
    let plain = 0;
    fc.assert(
      fc.property(reference, value, fc.boolean(), (text, data, mustFind) => {
        const parsed = parseValue(text);
        if (parsed.plain) plain += 1;
        expect(outcome(parsed, data, mustFind)).toEqual(outcome({ ...parsed, plain: undefined }, data, mustFind));
      }),
      { numRuns: 3_000 },
    );
    expect(plain).toBeGreaterThan(2_000);
  });

  it.each(["data[0]", "data[data.a]", "data.a | upcase", "data | json: data.a", "'a'.size", "data.a | json"])(
    "is not %s",
    (text) => {
      expect(parseValue(text).plain).toBeUndefined();
    },
  );
});
