import { Budget } from "./budget.js";

/** Work for what stands beside something costly in one answer: some 140 expressions, or 0.8 ms, each. */
const SMALL_SHARE = 20_000;

/**
 * What the masks of one answer may spend together: as much as one request. When that is used up, each of the others has
 * a small share of its own, so that a costly mask delays the server once and not a hundred times, and yet hides nothing
 * but itself.
 */
export class SharedBudget {
  readonly #whole = new Budget();
  #isUntouched = true;

  /** Runs an evaluation under what is left, or once more under a small share where others had used that up. */
  run<T>(evaluate: (budget: Budget) => T): T {
    if (!this.#whole.exhausted) {
      const isAlone = this.#isUntouched;
      this.#isUntouched = false;
      const result = evaluate(this.#whole);
      if (isAlone || !this.#whole.exhausted) return result;
    }
    return evaluate(new Budget(SMALL_SHARE));
  }
}
