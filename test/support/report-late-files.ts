import { readFileSync } from "node:fs";
import { relative } from "node:path";
import type { TestProject } from "vitest/node";
import { ownTime } from "./long-files-early.js";

/** A run of fewer files has no order that matters. */
const MANY_FILES = 300;
/** Of the time of all files together. Five run at once, so such a file alone is a twentieth of the run. */
const LONG_SHARE = 0.01;

/** A test file that has run. */
export interface RanFile {
  readonly path: string;
  /** Milliseconds since the epoch. */
  readonly startTime: number;
  /** Milliseconds. */
  readonly duration: number;
}

/**
 * One line on files that take long and began in the second half of the run, where one processor may wait for their end.
 * Undefined if there are none.
 */
export function lateLine(files: readonly RanFile[], saysSo: (path: string) => boolean): string | undefined {
  if (files.length < MANY_FILES) return undefined;
  const ordered = files.toSorted((a, b) => a.startTime - b.startTime);
  const total = ordered.reduce((sum, { duration }) => sum + duration, 0);
  const late = ordered
    .slice(Math.floor(ordered.length / 2))
    .filter(({ path, duration }) => duration > LONG_SHARE * total && !saysSo(path));
  if (late.length === 0) return undefined;
  const named = late.map(({ path, duration }) => `${path} (${Math.round(duration / 1_000)} s)`).join(", ");
  return `Long files began late. Give each a line "// Computes: N s" or "// Waits: N s": ${named}`;
}

/** Reports after the tests which files should begin earlier. */
export default function setup({ vitest }: TestProject): () => void {
  return () => {
    const files = vitest.state.getFiles().map(({ filepath, result }) => ({
      path: relative(vitest.config.root, filepath),
      startTime: result?.startTime ?? 0,
      duration: result?.duration ?? 0,
    }));
    const saysSo = (path: string) => {
      const { waits, computes } = ownTime(readFileSync(path, "utf8"));
      return waits || computes > 0;
    };
    const line = lateLine(files, saysSo);
    if (line !== undefined) process.stderr.write(`${line}\n`);
  };
}
