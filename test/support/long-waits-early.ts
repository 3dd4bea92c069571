import { readFileSync } from "node:fs";
import { BaseSequencer, type TestSpecification } from "vitest/node";

/** A line of its own in test files that mostly wait: "// Waits: 25 s". */
const WAITS = /^\/\/ Waits: \d+ s$/m;
/** Files that compute, between two that wait: with 6, several waited at once, and a tenth of the time was idle. */
const SPACING = 20;

/**
 * Vitest's order, the largest files first, except that those that mostly wait begin early: at the end of a run
 * nothing else would use the processors meanwhile.
 */
export class LongWaitsEarly extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const { waiting = [], others = [] } = Object.groupBy(sorted, ({ moduleId }) =>
      WAITS.test(readFileSync(moduleId, "utf8")) ? "waiting" : "others",
    );
    for (const [index, file] of waiting.entries()) others.splice(index * (SPACING + 1), 0, file);
    return others;
  }
}
