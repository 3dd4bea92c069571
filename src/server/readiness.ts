import type { Readiness } from "../api/health/health.js";
import { laggingSinks } from "../audit/lagging-sinks.js";
import type { Clock } from "../base/clock.js";
import { createCheckValue, type RootKey } from "../crypto/root-key.js";
import type { SinkName } from "../sinks/sink.js";
import { clockOffset, clockProblem } from "../store/clock-gap.js";
import type { Database } from "../store/database.js";
import type { ServiceProbe } from "../store/postgres/service-probe.js";

/**
 * How long a successful check of the root key counts, and a look at the sinks, in milliseconds: a check of the key may
 * cost a call to a cloud service.
 */
const SLOW_LOOK_MS = 10_000;

/** The database checks used here. */
type Looked = Pick<Database, "probe" | "takesWrites" | "oldestDue">;

/**
 * How long a check of the database serves all requests, in milliseconds. It writes, and anyone may request it without a
 * key, at any rate.
 */
const DATABASE_LOOK_MS = 100;

/**
 * Whether a load balancer should send requests here: the database serves tenants and its clock agrees with ours, and the key is
 * available.
 */
export function readinessOf(
  database: Looked,
  rootKey: Pick<RootKey, "id" | "wrap">,
  clock: Clock,
  draining: AbortSignal,
  sinks: readonly SinkName[] = [],
): Readiness {
  const lookAtSinks = lateSinkLooks(database, clock, sinks);
  const lookAtKey = remembered(() => createCheckValue(rootKey));
  const look = shared(() => lookAtDatabase(database, clock));
  return {
    draining,
    async check() {
      const [{ problem, clockProblem, warning }, keys, late] = await Promise.all([look(), lookAtKey(), lookAtSinks()]);
      return {
        checks: {
          serving: draining.aborted ? "is stopping" : undefined,
          database: problem,
          keys: keys ? undefined : "the root key's holder does not respond",
          clock: clockProblem,
        },
        warnings: [...(warning === undefined ? [] : [warning]), ...late],
      };
    },
  };
}

/** Sinks that are behind, looked at once per {@link SLOW_LOOK_MS}. A database that does not respond has its own check. */
function lateSinkLooks(database: Looked, clock: Clock, sinks: readonly SinkName[]): () => Promise<readonly string[]> {
  let late: readonly string[] = [];
  let lookedAt = Number.NEGATIVE_INFINITY;
  return async () => {
    if (sinks.length === 0 || performance.now() - lookedAt < SLOW_LOOK_MS) return late;
    lookedAt = performance.now();
    late = await laggingSinks(database, sinks, new Date(clock.now())).catch(() => []);
    return late;
  };
}

interface DatabaseLook {
  readonly problem: string | undefined;
  readonly clockProblem: string | undefined;
  /** A failure that affects some tenants. */
  readonly warning: string | undefined;
}

async function lookAtDatabase(database: Looked, clock: Clock): Promise<DatabaseLook> {
  try {
    const before = clock.now();
    const probe = await database.probe();
    const gap = clockOffset(before, probe.time, clock.now());
    const takesWrites = !probe.refusesWrites && (await database.takesWrites());
    return { ...serviceOf(probe, takesWrites), clockProblem: clockProblem(gap) };
  } catch {
    return { problem: "does not respond", clockProblem: "cannot be compared", warning: undefined };
  }
}

/**
 * All replicas use the same cluster. If each of them counted as not ready after the loss of one node, no replica would
 * serve the tenants of the other nodes.
 */
function serviceOf({ nodes, failing }: ServiceProbe, takesWrites: boolean): Pick<DatabaseLook, "problem" | "warning"> {
  if (failing > 0 && failing < nodes) {
    return { problem: undefined, warning: `${failing} of ${nodes} database nodes fail. Their tenants are not served.` };
  }
  if (!takesWrites) return { problem: "takes no writes: its disk may be full", warning: undefined };
  return { problem: failing > 0 ? "answers, but fails reads and writes of tenants" : undefined, warning: undefined };
}

/** Checks at most once per {@link SLOW_LOOK_MS}, unless the last check failed. */
function remembered(ask: () => Promise<unknown>): () => Promise<boolean> {
  let good = Number.NEGATIVE_INFINITY;
  return async () => {
    if (performance.now() - good < SLOW_LOOK_MS) return true;
    try {
      await ask();
      good = performance.now();
      return true;
    } catch {
      return false;
    }
  };
}

/** Shares one check among all requests during it, and for {@link DATABASE_LOOK_MS} after it. */
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
