import { inTurns, type Steps } from "../base/caller-turns.js";
import { Budget } from "./budget.js";

/** Share for small work beside something costly in one response: some 140 expressions, or 0.8 ms, each. */
const SMALL_SHARE = 20_000;

/**
 * A budget for all masks of one response: as much as one request. When it is used up, each further mask gets a small
 * share of its own. A costly mask thus delays the server once instead of a hundred times, and hides only itself.
 */
export class SharedBudget {
  readonly #whole = new Budget();
  #isUntouched = true;

  /** Runs an evaluation under the rest of the budget, or again under a small share if others had used it up. */
  run<T>(evaluate: (budget: Budget) => T): T {
    if (!this.#whole.exhausted) {
      const isAlone = this.#isUntouched;
      this.#isUntouched = false;
      const result = evaluate(this.#whole);
      if (isAlone || !this.#whole.exhausted) return result;
    }
    return evaluate(new Budget(SMALL_SHARE));
  }

  /** The same for an evaluation in steps, in as many turns of the caller as it needs. */
  async runInTurns<T>(evaluate: (budget: Budget) => Steps<T>): Promise<T> {
    if (!this.#whole.exhausted) {
      const isAlone = this.#isUntouched;
      this.#isUntouched = false;
      const result = await inTurns(evaluate(this.#whole));
      if (isAlone || !this.#whole.exhausted) return result;
    }
    return inTurns(evaluate(new Budget(SMALL_SHARE)));
  }
}
