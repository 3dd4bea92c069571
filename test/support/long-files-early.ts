import { readFileSync } from "node:fs";
import { BaseSequencer, type TestSpecification } from "vitest/node";

/** A line of its own in test files that mostly wait: "// Waits: 25 s". */
const WAITS = /^\/\/ Waits: \d+ s$/m;
/** A line of its own in short test files that compute for long: "// Computes: 40 s". */
const COMPUTES = /^\/\/ Computes: (\d+) s$/m;
/** Files that compute, between two that wait: with 6, several waited at once, and a tenth of the time was idle. */
const SPACING = 20;

/** What a test file says of its own time. */
export interface OwnTime {
  readonly waits: boolean;
  /** Seconds on two idle processors; 0 if it says nothing. */
  readonly computes: number;
}

/** @param source the text of a test file. */
export function ownTime(source: string): OwnTime {
  return { waits: WAITS.test(source), computes: Number(COMPUTES.exec(source)?.[1] ?? 0) };
}

/**
 * The order of files: those that compute longest, then the others as they were. Files that mostly wait begin early, with
 * others between them: at the end of a run nothing else would use the processors meanwhile.
 */
export function longFilesEarly<File>(files: readonly File[], timeOf: (file: File) => OwnTime): File[] {
  const timed = files.map((file) => ({ file, ...timeOf(file) }));
  // The sort is stable.
  const order = timed.filter(({ waits }) => !waits).toSorted((a, b) => b.computes - a.computes);
  const waiting = timed.filter(({ waits }) => waits);
  for (const [index, file] of waiting.entries()) order.splice(index * (SPACING + 1), 0, file);
  return order.map(({ file }) => file);
}

/** Vitest's order, in which large files come first if it has not measured them, with {@link longFilesEarly}. */
export class LongFilesEarly extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    return longFilesEarly(sorted, ({ moduleId }) => ownTime(readFileSync(moduleId, "utf8")));
  }
}
