import fc from "fast-check";
import { expect, it } from "vitest";
import type { Json } from "../../../src/base/json.js";
import { Budget } from "../../../src/expressions/budget.js";
import { evaluate, templateProblem } from "../../../src/expressions/expression.js";

/** Our own filters with the names of their arguments, in order. */
const FILTERS: Readonly<Record<string, readonly string[]>> = {
  alias_card: ["reveal_bin", "reveal_last4"],
  alias_preserve_format: ["reveal_first_length", "reveal_last_length"],
  alias_preserve_length: ["reveal_first_length", "reveal_last_length"],
  card_bin: ["separator_char"],
  card_exp: ["date_expression"],
  card_mask: ["reveal_bin", "reveal_last4", "mask_char", "preserve_char"],
  hmac: ["algorithm", "key"],
  json: ["json_path_expression"],
  pad_left: ["length", "pad_char"],
  pad_right: ["length", "pad_char"],
  reveal: ["reveal_first", "reveal_last", "mask_char", "preserve_chars"],
  reveal_last: ["length", "mask_char"],
};

const literal = fc.constantFrom(
  ...[
    "0",
    "4",
    "12.5",
    "-1",
    "'4'",
    "'x'",
    "''",
    "'##'",
    "'true'",
    "'false'",
    "'yes'",
    "'MM/YY'",
    "'sha-512'",
    "'md5'",
  ],
  ...["'$.number'", "'number'", "'é'"],
);

/** A use of a filter with literal arguments, by position or by name. */
const use = fc.constantFrom(...Object.entries(FILTERS)).chain(([filter, names]) => {
  const byPosition = fc.array(literal, { maxLength: names.length }).map((values) => values.join(", "));
  const byName = fc
    .array(fc.tuple(fc.constantFrom(...names), literal), { maxLength: names.length })
    .map((pairs) => pairs.map(([name, value]) => `${name}: ${value}`).join(", "));
  return fc.oneof(byPosition, byName).map((given) => `${filter}${given === "" ? "" : `: ${given}`}`);
});

const values: readonly Json[] = [
  ...["4242424242424242", "4242-4242-4242-4242", "short text", "é"],
  { number: "4242424242424242", expiration_month: 7, expiration_year: 2030 },
];

function reasons(text: string): (string | undefined)[] {
  return values.map((data) => {
    const outcome = evaluate(text, { data });
    return "rejected" in outcome ? outcome.rejected : undefined;
  });
}

it("a filter with literal arguments is refused when it is stored if it could never be evaluated, and only then", () => {
  fc.assert(
    fc.property(use, (filter) => {
      const text = `{{ data | ${filter} }}`;
      const problem = templateProblem(text, new Budget());
      const results = reasons(text);
      if (problem) {
        expect(results, text).not.toContain(undefined);
        expect(problem.character).toBe("{{ data | ".length + 1);
      }
      // What evaluation says of an argument was known before.
      const ofArguments = results.find((reason) => / needs .+ as [a-z_0-9]+$/.test(reason ?? ""));
      if (ofArguments) expect(problem, `${text}: ${ofArguments}`).toBeDefined();
    }),
    { numRuns: 2_000 },
  );
});
