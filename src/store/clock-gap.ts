import type { Clock } from "../base/clock.js";
import type { Database } from "./database.js";

/**
 * Largest acceptable gap in milliseconds between our clock and the database's. Expiry times and log times can be wrong
 * by this much.
 */
export const MAX_CLOCK_GAP_MS = 2_000;

/**
 * Milliseconds by which this server's clock is ahead of the database's; negative if it is behind.
 * @throws {Fault} unavailable if the database does not respond.
 */
export async function clockGap(database: Pick<Database, "ping">, clock: Clock): Promise<number> {
  const before = clock.now();
  const theirs = await database.ping();
  return clockOffset(before, theirs, clock.now());
}

/** The gap, if the database reported `theirs` between our readings `before` and `after`. */
export function clockOffset(before: number, theirs: Date, after: number): number {
  return (before + after) / 2 - theirs.getTime();
}

/** A predicate that says what is wrong with our clock; undefined if it agrees with the database's. */
export function clockProblem(gap: number): string | undefined {
  if (Math.abs(gap) <= MAX_CLOCK_GAP_MS) return undefined;
  return `is ${(Math.abs(gap) / 1_000).toFixed(1)} s ${gap > 0 ? "ahead of" : "behind"} the database's`;
}
