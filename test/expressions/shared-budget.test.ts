import { expect, test } from "vitest";
import type { Budget } from "../../src/expressions/budget.js";
import { SharedBudget } from "../../src/expressions/shared-budget.js";
import { evaluateMask } from "../../src/tokens/mask.js";

const COSTLY = `{{ data | ${Array.from({ length: 100 }, () => "split: '' | join: ','").join(" | ")} }}`;
const LONG = "x".repeat(40_000);

test("a costly mask hides itself, and nothing else", () => {
  const budget = new SharedBudget();
  const shown = Array.from({ length: 50 }, () => [
    evaluateMask({ a: COSTLY, b: COSTLY }, LONG, budget),
    evaluateMask("{{ data | reveal_last: 4 }}", "4242424242424242", budget),
  ]);
  expect(shown).toEqual(Array.from({ length: 50 }, () => [{ a: null, b: null }, "XXXXXXXXXXXX4242"]));
});

test("a mask that is too costly for the remaining budget is evaluated with its own share", () => {
  const budget = new SharedBudget();
  const texts = Array.from({ length: 400 }, () =>
    evaluateMask("{{ data | reveal_last: 4 }}", "1".repeat(4_000), budget),
  );
  expect(new Set(texts)).toEqual(new Set([`${"X".repeat(3_996)}1111`]));
});

test("any number of evaluations that share it cost little more than one request", () => {
  const budget = new SharedBudget();
  let work = 0;
  const endless = (share: Budget) => {
    try {
      for (;;) {
        share.spend(100);
        work += 100;
      }
    } catch {
      return null;
    }
  };
  for (let n = 0; n < 100; n += 1) budget.run(endless);
  expect(work).toBeLessThanOrEqual(1_000_000 + 100 * 20_000);
});
