import { cloakroomProcess } from "../support/command.js";
import { startBenchServer } from "./bench-server.js";
import { tenantPlans } from "./many-tenants.js";
import { measure, type Plan } from "./measure.js";
import { say } from "./table.js";

/** Milliseconds measured in a round, after a warm-up. With ten thousand tenants, each has a few requests in it. */
const SLICE = { warmUp: 1_000, duration: 3_000 };

/**
 * Requests per second of 32 callers over each number of tenants, as a share of those over one tenant in the same round:
 * the median over the rounds, with the least and the greatest. All tenants are in one vault. Then what `doctor` takes on it.
 */
export async function tenantShares(counts: readonly number[], rounds: number): Promise<void> {
  await using server = await startBenchServer();
  const rate = async (plan: Plan) => (await measure(server, { ...plan, ...SLICE })).requestsPerSecond;
  const [ofOne, ...ofMany] = await Promise.all([1, ...counts].map((count) => tenantPlans(server, count)));
  for (const [index, one] of (ofOne ?? []).entries()) {
    const shares = counts.map((): number[] => []);
    for (let round = 0; round < rounds; round += 1) {
      const alone = await rate(one);
      for (const [at, plans] of ofMany.entries()) {
        const plan = plans[index];
        if (plan) shares[at]?.push((await rate(plan)) / alone);
      }
    }
    for (const [at, found] of shares.entries()) {
      const [least, median, greatest] = [0, Math.floor(rounds / 2), rounds - 1].map((nth) =>
        found.toSorted((a, b) => a - b)[nth]?.toFixed(2),
      );
      say(
        `${one.operation.padEnd(28)}${String(counts[at]).padStart(7)} tenants: ${median} of one (${least} to ${greatest})`,
      );
    }
  }
  for (let run = 0; run < 3; run += 1) {
    const start = performance.now();
    const { code } = await cloakroomProcess({ ...server.environment }, "doctor");
    say(`doctor: ${((performance.now() - start) / 1_000).toFixed(1)} s, exit code ${code}`);
  }
}
