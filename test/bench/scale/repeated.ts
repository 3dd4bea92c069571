import { type Measurement, measure, type Plan, type Target } from "../measure.js";
import { say } from "../table.js";

/** The median of several runs, and their spread. */
export interface Repeated extends Measurement {
  /** Half of the distance between the slowest and the fastest run, relative to the median. */
  readonly spread: number;
}

export const RUNS = 3;

/** Runs a plan three times, three seconds each. */
export async function repeatedly(target: Target, plan: Plan): Promise<Repeated> {
  const runs: Measurement[] = [];
  for (let run = 0; run < RUNS; run += 1) {
    runs.push(await measure(target, { ...plan, warmUp: run === 0 ? 1_500 : 300, duration: 3_000 }));
  }
  const repeated = middleOf(runs);
  say(
    `  ${plan.operation}: ${repeated.requestsPerSecond.toFixed(0)}/s (± ${(repeated.spread * 100).toFixed(0)} %), p99 ${repeated.p99.toFixed(1)} ms`,
  );
  return repeated;
}

/** Picks the run with the median throughput. */
export function middleOf(runs: readonly Measurement[]): Repeated {
  const sorted = runs.toSorted((a, b) => a.requestsPerSecond - b.requestsPerSecond);
  const [slowest, fastest] = [sorted[0], sorted.at(-1)];
  const middle = sorted[Math.floor(sorted.length / 2)];
  if (!slowest || !fastest || !middle) throw new Error("nothing was measured");
  return { ...middle, spread: (fastest.requestsPerSecond - slowest.requestsPerSecond) / 2 / middle.requestsPerSecond };
}
