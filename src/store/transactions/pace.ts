import type { Steps } from "../../base/caller-turns.js";
import { TURN_MS } from "../../base/processor-turns.js";

/** Lets others have the main thread after each {@link TURN_MS} of the work on transactions. */
export class Pace {
  readonly #nextTurn: () => Promise<void>;
  #since = performance.now();

  /** @param nextTurn resolves when the work may go on. */
  constructor(nextTurn: () => Promise<void>) {
    this.#nextTurn = nextTurn;
  }

  /** The work was waiting for something else until now. */
  restart(): void {
    this.#since = performance.now();
  }

  async run<T>(steps: Steps<T>): Promise<T> {
    for (;;) {
      const step = steps.next();
      if (step.done) return step.value;
      if (performance.now() - this.#since < TURN_MS) continue;
      await this.#nextTurn();
      this.restart();
    }
  }
}
