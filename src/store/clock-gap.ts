import type { Clock } from "../base/clock.js";
import type { Database } from "./database.js";

/** Milliseconds that our clock and the database's may be apart: expiries and log times would be wrong by more. */
export const CLOCKS_APART_MS = 2_000;

/**
 * Milliseconds by which this server's clock is ahead of the database's; negative where it is behind.
 * @throws {Fault} unavailable where the database does not answer.
 */
export async function clockGap(database: Pick<Database, "ping">, clock: Clock): Promise<number> {
  const before = clock.now();
  const theirs = await database.ping();
  return gapBetween(before, theirs, clock.now());
}

/** The gap, where the database told its time between two looks at ours. */
export function gapBetween(before: number, theirs: Date, after: number): number {
  return (before + after) / 2 - theirs.getTime();
}

/** What is wrong with our clock, as a predicate of it; undefined while it agrees with the database's. */
export function clockProblem(gap: number): string | undefined {
  if (Math.abs(gap) <= CLOCKS_APART_MS) return undefined;
  return `is ${(Math.abs(gap) / 1_000).toFixed(1)} s ${gap > 0 ? "ahead of" : "behind"} the database's`;
}
