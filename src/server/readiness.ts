import type { Readiness } from "../api/health.js";
import type { Clock } from "../base/clock.js";
import { makeCheckValue, type RootKey } from "../crypto/root-key.js";
import { clockProblem, gapBetween } from "../store/clock-gap.js";
import type { Database } from "../store/database.js";
import type { ServiceProbe } from "../store/service-probe.js";

/** Milliseconds for which a root key that answered counts as being there: each look may cost a call of a cloud. */
const KEY_LOOK = 10_000;

/** What of the database is looked at. */
type Looked = Pick<Database, "probe" | "takesWrites">;

/**
 * Milliseconds for which a look at the database serves all that ask. It writes, and everybody may ask, without a key and as
 * often as they like.
 */
const DATABASE_LOOK_MS = 100;

/** Whether requests should be sent here: the database serves tenants and tells our time, and the key is there. */
export function readinessOf(
  database: Looked,
  rootKey: Pick<RootKey, "id" | "wrap">,
  clock: Clock,
  draining: AbortSignal,
): Readiness {
  const lookAtKey = remembered(() => makeCheckValue(rootKey));
  const look = shared(() => lookAtDatabase(database, clock));
  return {
    draining,
    async check() {
      const [{ problem, time, warning }, keys] = await Promise.all([look(), lookAtKey()]);
      return {
        checks: {
          serving: draining.aborted ? "is stopping" : undefined,
          database: problem,
          keys: keys ? undefined : "the root key's holder does not answer",
          clock: time,
        },
        warnings: warning === undefined ? [] : [warning],
      };
    },
  };
}

interface DatabaseLook {
  readonly problem: string | undefined;
  readonly time: string | undefined;
  /** What fails for some tenants. */
  readonly warning: string | undefined;
}

async function lookAtDatabase(database: Looked, clock: Clock): Promise<DatabaseLook> {
  try {
    const before = clock.now();
    const probe = await database.probe();
    const gap = gapBetween(before, probe.time, clock.now());
    const takesWrites = !probe.refusesWrites && (await database.takesWrites());
    return { ...serviceOf(probe, takesWrites), time: clockProblem(gap) };
  } catch {
    return { problem: "does not answer", time: "cannot be compared", warning: undefined };
  }
}

/**
 * All replicas use the same cluster. If one that has lost a node counted as not ready, none would be left to serve the tenants
 * of the other nodes.
 */
function serviceOf({ nodes, failing }: ServiceProbe, takesWrites: boolean): Pick<DatabaseLook, "problem" | "warning"> {
  if (failing > 0 && failing < nodes) {
    return { problem: undefined, warning: `${failing} of ${nodes} database nodes fail. Their tenants are not served.` };
  }
  if (!takesWrites) return { problem: "takes no writes: its disk may be full", warning: undefined };
  return { problem: failing > 0 ? "answers, but fails reads and writes of tenants" : undefined, warning: undefined };
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

/** Shares one answer among those that ask while it is found out, and for {@link DATABASE_LOOK_MS} after. */
function shared<T>(ask: () => Promise<T>): () => Promise<T> {
  let current: Promise<T> | undefined;
  return () => {
    if (current) return current;
    const asked = ask();
    current = asked;
    const forget = () => {
      setTimeout(() => {
        current = undefined;
      }, DATABASE_LOOK_MS).unref();
    };
    asked.then(forget, forget);
    return asked;
  };
}
