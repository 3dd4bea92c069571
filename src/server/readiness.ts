import type { Readiness } from "../api/health/health.js";
import { emptiedLogs } from "../audit/chain/emptied-logs.js";
import { laggingSinks } from "../audit/delivery/lagging-sinks.js";
import type { Clock } from "../base/clock.js";
import { createCheckValue, type RootKey } from "../crypto/root-key.js";
import type { SinkName } from "../sinks/sink.js";
import { clockOffset, clockProblem } from "../store/clock-gap.js";
import type { Database } from "../store/database.js";
import type { ServiceProbe } from "../store/postgres/service-probe.js";
import type { Vault } from "../vault/vault.js";

/**
 * How long a successful check of the root key counts, and a look at the sinks, in milliseconds: a check of the key may
 * cost a call to a cloud service.
 */
const SLOW_LOOK_MS = 10_000;

/** Looks for emptied logs pass all tenants. */
const EMPTIED_LOOK_MS = 60_000;

/** What of the logs is watched: nothing that is wrong with them keeps a server from serving. */
export interface WatchedLogs {
  readonly sinks?: readonly SinkName[] | undefined;
  /** A sentence for each kind of log that was emptied in the database. */
  readonly emptied?: () => Promise<readonly string[]>;
}

type Looked = Pick<Database, "probe" | "takesWrites" | "oldestDue">;

interface WatchedVault {
  readonly database: Looked;
  readonly rootKey: Pick<RootKey, "id" | "wrap">;
}

/**
 * How long a check of the database serves all requests, in milliseconds. It writes, and anyone may request it without a
 * key, at any rate.
 */
const DATABASE_LOOK_MS = 100;

/**
 * Whether a load balancer should send requests here: the database serves tenants and its clock agrees with ours, and the key is
 * available.
 */
export function watchReadiness(
  { database, rootKey }: WatchedVault,
  clock: Clock,
  draining: AbortSignal,
  { sinks = [], emptied = async () => [] }: WatchedLogs = {},
): Readiness {
  const lookAtSinks = occasionally(SLOW_LOOK_MS, async () => laggingSinks(database, sinks, new Date(clock.now())));
  const lookForEmptied = occasionally(EMPTIED_LOOK_MS, emptied);
  const lookAtKey = remembered(() => createCheckValue(rootKey));
  const look = shared(() => lookAtDatabase(database, clock));
  return {
    draining,
    async check() {
      const [{ problem, clockProblem, warning }, keys, ...logs] = await Promise.all([
        look(),
        lookAtKey(),
        lookAtSinks(),
        lookForEmptied(),
      ]);
      return {
        checks: {
          serving: draining.aborted ? "is stopping" : undefined,
          database: problem,
          keys: keys ? undefined : "the root key's holder does not respond",
          clock: clockProblem,
        },
        warnings: [...(warning === undefined ? [] : [warning]), ...logs.flat()],
      };
    },
  };
}

export function readinessOfVault(
  vault: Pick<Vault, "database" | "rootKey" | "ownerAddress">,
  clock: Clock,
  draining: AbortSignal,
  sinks: readonly SinkName[] = [],
): Readiness {
  return watchReadiness(vault, clock, draining, { sinks, emptied: () => emptiedLogs(vault.ownerAddress) });
}

/** Also warns while the runner of tenants' code does not start. Anyone may ask, so the cause is in the log alone. */
export function warningOfRunner({ draining, check }: Readiness, runner: { readonly problem: string | undefined }) {
  return {
    draining,
    async check() {
      const { checks, warnings } = await check();
      return { checks, warnings: runner.problem === undefined ? warnings : [...warnings, NO_RUNNER] };
    },
  } satisfies Readiness;
}

const NO_RUNNER =
  "Tenants' code does not run, because its runner does not start. The log says why, and so does: cloakroom doctor";

/** Warnings, looked for at most once per period. A database that does not respond has its own check. */
function occasionally(periodMs: number, look: () => Promise<readonly string[]>): () => Promise<readonly string[]> {
  let found: readonly string[] = [];
  let lookedAt = Number.NEGATIVE_INFINITY;
  return async () => {
    if (performance.now() - lookedAt < periodMs) return found;
    lookedAt = performance.now();
    found = await look().catch(() => []);
    return found;
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
