import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseInPieces } from "../../../src/api/messages/parse-in-pieces.js";
import { atOnce } from "../../../src/base/caller-turns.js";

/** Long enough that it is read in pieces, at each of the levels around it. */
const LONG = 20_000;

function outcomeOf(parse: () => unknown): unknown {
  try {
    return { value: JSON.stringify(parse()) };
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return "SyntaxError";
  }
}

function expectSame(text: string): void {
  const bytes = Buffer.from(text);
  const expected = outcomeOf(() => JSON.parse(bytes.toString()));
  expect(outcomeOf(() => atOnce(parseInPieces(bytes)))).toEqual(expected);
}

/** Lists and objects of long and short parts, with names that repeat. */
const { json } = fc.letrec<{ json: unknown }>((tie) => ({
  json: fc.oneof(
    { maxDepth: 4 },
    fc.jsonValue({ maxDepth: 2 }),
    fc.constantFrom("x".repeat(LONG), '"\\'.repeat(LONG / 2), Array(LONG).fill(7), "ä".repeat(LONG)),
    fc.array(tie("json"), { maxLength: 4 }),
    fc.dictionary(fc.constantFrom("a", "b", "__proto__", "7", "3"), tie("json"), { maxKeys: 4 }),
  ),
}));

describe("parsing in pieces", () => {
  it("gives what JSON.parse gives, for any JSON and any spacing", () => {
    fc.assert(
      fc.property(json, fc.constantFrom(undefined, 1, "\t", " ".repeat(9)), (value, spacing) => {
        expectSame(JSON.stringify(value, undefined, spacing));
      }),
      { numRuns: 300 },
    );
  });

  it("refuses what JSON.parse refuses: texts of which something was lost, added or moved", () => {
    const pieces = ["", ",", "]", "[", "}", "{", ":", '"', "\\", "1", " ", "null", '"a":', "\u00a0", "\ufeff", "x"];
    const edit = fc.record({ at: fc.nat(), lost: fc.nat({ max: 3 }), added: fc.constantFrom(...pieces) });
    fc.assert(
      fc.property(json, fc.array(edit, { minLength: 1, maxLength: 3 }), (value, edits) => {
        let text = JSON.stringify([value, "x".repeat(LONG), value, { a: value, b: [1, 2] }]);
        for (const { at, lost, added } of edits) {
          const from = at % 2 === 0 ? at % text.length : text.length - 1 - (at % Math.min(80, text.length));
          text = text.slice(0, from) + added + text.slice(from + lost);
        }
        expectSame(text);
      }),
      { numRuns: 1_000 },
    );
  });

  it("keeps the last of several members of one name, wherever they are", () => {
    const long = JSON.stringify("x".repeat(LONG));
    expectSame(`{"a":1,"b":${long},"a":2,"c":${long},"__proto__":3,"a":${long},"b":4}`);
  });

  it("takes a step for each piece, however deep it lies", () => {
    const numbers = JSON.stringify(Array.from({ length: 50_000 }, (_, n) => n));
    const text = "[".repeat(30) + numbers + "]".repeat(30);
    let steps = 0;
    for (const walk = parseInPieces(Buffer.from(text)); !walk.next().done; ) steps += 1;
    expect(steps).toBeGreaterThanOrEqual(numbers.length / (16 * 1024));
  });
});
