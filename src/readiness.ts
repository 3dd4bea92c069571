import type { Readiness } from "./api/health.js";
import type { Clock } from "./base/clock.js";
import { makeCheckValue, type RootKey } from "./crypto/root-key.js";
import { clockGap, clockProblem } from "./store/clock-gap.js";
import type { Database } from "./store/database.js";

/** Milliseconds for which a root key that answered counts as being there: each look may cost a call of a cloud. */
const KEY_LOOK = 10_000;

/** What of the database is looked at. */
type Looked = Pick<Database, "ping" | "takesWrites">;

/** Whether requests should be sent here: the database answers, takes writes and tells our time, and the key is there. */
export function readinessOf(
  database: Looked,
  rootKey: Pick<RootKey, "id" | "wrap">,
  clock: Clock,
  draining: AbortSignal,
): Readiness {
  const lookAtKey = remembered(() => makeCheckValue(rootKey));
  return {
    draining,
    async check() {
      const [{ problem, time }, keys] = await Promise.all([lookAtDatabase(database, clock), lookAtKey()]);
      return {
        serving: draining.aborted ? "is stopping" : undefined,
        database: problem,
        keys: keys ? undefined : "the root key's holder does not answer",
        clock: time,
      };
    },
  };
}

async function lookAtDatabase(database: Looked, clock: Clock) {
  try {
    const gap = await clockGap(database, clock);
    const problem = (await database.takesWrites()) ? undefined : "takes no writes: its disk may be full";
    return { problem, time: clockProblem(gap) };
  } catch {
    return { problem: "does not answer", time: "cannot be compared" };
  }
}

/** Asks at most once in {@link KEY_LOOK}, unless the last answer was no. */
function remembered(ask: () => Promise<unknown>): () => Promise<boolean> {
  let good = Number.NEGATIVE_INFINITY;
  return async () => {
    if (performance.now() - good < KEY_LOOK) return true;
    try {
      await ask();
      good = performance.now();
      return true;
    } catch {
      return false;
    }
  };
}
