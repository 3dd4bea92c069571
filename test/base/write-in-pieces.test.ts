import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { atOnce } from "../../src/base/caller-turns.js";
import type { Json } from "../../src/base/json.js";
import { writeInPieces } from "../../src/base/write-in-pieces.js";

const many = (count: number) => Array.from({ length: count }, (_, n) => n);

/** Parts of less than a piece, of just one, and of several, on several levels. */
const { json } = fc.letrec<{ json: Json }>((tie) => ({
  json: fc.oneof(
    { maxDepth: 4 },
    fc.string({ unit: "binary" }),
    fc.double(),
    fc.constantFrom<Json>(null, true, [], {}, -0, many(998), many(999), many(1_000), many(2_500)),
    fc.constantFrom<Json>(Object.fromEntries(many(1_500).map((n) => [n % 2 ? `k${n}` : `${n}`, n]))),
    fc.array(tie("json"), { maxLength: 5 }),
    fc.dictionary(fc.constantFrom("a", "b", "__proto__", "7", '"'), tie("json"), { maxKeys: 5 }),
  ),
}));

describe("writing in pieces", () => {
  it("gives what JSON.stringify gives", () => {
    fc.assert(
      fc.property(json, (value) => {
        expect(atOnce(writeInPieces(value)).toString()).toBe(JSON.stringify(value));
      }),
      { numRuns: 500 },
    );
  });

  it.each<[string, Json]>([
    ["numbers", many(50_000)],
    ["members", Object.fromEntries(many(50_000).map((n) => [`k${n}`, n]))],
    ["short lists", many(100).map(() => many(500))],
    ["lists that lie deep", many(30).reduce<Json>((inner) => [1, inner], many(50_000))],
  ])("takes a step for each thousand %s", (_, value) => {
    let steps = 1;
    for (const walk = writeInPieces(value); !walk.next().done; ) steps += 1;
    expect(steps).toBeGreaterThanOrEqual(50);
  });
});
