import { LRUCache } from "lru-cache";
import type { Archiving } from "../audit/archive/log-archive.js";
import { freeOldLog } from "../audit/chain/retain-log.js";
import { type SealOutcome, type SealParts, sealLog } from "../audit/chain/seal-log.js";
import { LOGS_AT_ONCE, sealLogs } from "../audit/chain/seal-logs.js";
import { LogOutages, OUTAGE_MS } from "../audit/delivery/log-outages.js";
import { type Clock, HOUR_MS } from "../base/clock.js";
import type { TenantId } from "../base/ids.js";
import { lruEntries } from "../base/lru-entries.js";
import { SEALED_AFTER_MS } from "../store/audit/audit-logs.js";
import { type DueMinute, type LogDueKind, TENANT_SHARDS } from "../store/jobs/due.js";
import { SEALING_LEASE } from "../store/tenancy/operator-tenants.js";
import type { Job } from "./schedule.js";

/** A minute must be sealed 60 s after its end, with ten seconds of tolerance. */
const INTERVAL_MS = 10_000;
const LEASE_SECONDS = 60;
/** Each run finds a chain that waits for an operator, but reports it only once an hour. */
const TOLD_EVERY_MS = HOUR_MS;
/** At midnight all tenants are due for a look at their retention. Minutes are sealed in between. */
const LOOKS_PER_RUN = 1_000;

export interface LogSealsParts extends SealParts {
  readonly clock: Clock;
  /** Days for which rows are kept; 0: forever. */
  readonly retentionDays: number;
  readonly archiving: Archiving;
  readonly onFailure: (tenantId: TenantId, error: unknown) => void;
  /**
   * Called when the chain of seals was tampered with. It continues with a gap (`broken`), or is not sealed until an
   * operator lets it continue (`refused`).
   */
  readonly onBroken: (tenantId: TenantId, outcome: "broken" | "refused") => void;
}

/**
 * Seals tenants' logs minute by minute, and frees rows past their retention. Replicas share the tenants by shards, for
 * speed and not for safety: two replicas would find each other's seals.
 */
export function logSealsJob(parts: LogSealsParts): Job {
  const { database } = parts;
  const leases = database.sharedLeases({ name: SEALING_LEASE, parts: TENANT_SHARDS, seconds: LEASE_SECONDS });
  const outages = new LogOutages(database, "sealing");
  const told = new LRUCache<TenantId, true>({ ...lruEntries(10_000), ttl: TOLD_EVERY_MS });
  return {
    name: "log seals",
    intervalMs: INTERVAL_MS,
    async run(signal) {
      const run = { ...parts, outages, told, signal, shards: () => leases.hold() };
      if ((await leases.hold()).length === 0) return outages.forget();
      for await (const minutes of dueMinutes(run, "log_seal")) await sealAll(run, minutes);
      let looks = 0;
      for await (const minutes of dueMinutes(run, "log_retention")) {
        // One look at a log is for all its days.
        for (const minute of new Map(minutes.map((due) => [due.tenantId, due])).values())
          if (!signal.aborted) await attempt(run, minute, () => freeOld(run, minute));
        looks += minutes.length;
        if (looks >= LOOKS_PER_RUN) break;
      }
    },
    end: () => leases.release(),
  };
}

interface Run extends LogSealsParts {
  readonly outages: LogOutages;
  readonly told: LRUCache<TenantId, true>;
  readonly signal: AbortSignal;
  /** The shards of tenants that this replica holds now. */
  readonly shards: () => Promise<readonly number[]>;
}

type LogMinute = DueMinute<LogDueKind>;

/** The due minutes of the shards that this replica holds, a thousand at a time. */
async function* dueMinutes(
  { database, clock, signal, shards }: Run,
  kind: LogDueKind,
): AsyncGenerator<readonly LogMinute[]> {
  let due: readonly LogMinute[] = [];
  do {
    due = await database.due([kind], { now: new Date(clock.now()), after: due.at(-1), shards: await shards() });
    if (due.length > 0) yield due;
  } while (due.length > 0 && !signal.aborted);
}

/** Seals logs together, and those that need more one by one. */
async function sealAll(run: Run, due: readonly LogMinute[]): Promise<void> {
  const byTenant = Map.groupBy(due, ({ tenantId }) => tenantId);
  const tenants = [...byTenant].map(([tenantId, minutes]) => ({ tenantId, minutes }));
  for (let from = 0; from < tenants.length && !run.signal.aborted; from += LOGS_AT_ONCE) {
    const batch = tenants.slice(from, from + LOGS_AT_ONCE);
    const sealed = await sealTogether(run, batch);
    for (const { tenantId, minutes } of batch) {
      if (sealed.has(tenantId)) continue;
      for (const minute of minutes) if (!run.signal.aborted) await attempt(run, minute, () => sealOne(run, minute));
    }
  }
}

interface TenantMinutes {
  readonly tenantId: TenantId;
  /** Oldest first. */
  readonly minutes: readonly LogMinute[];
}

/** The last due minute of a log has the others before it. */
async function sealTogether(run: Run, batch: readonly TenantMinutes[]): Promise<ReadonlySet<TenantId>> {
  const now = run.clock.now();
  const tasks = batch.flatMap(({ tenantId, minutes }) => {
    const [first, last] = [minutes[0], minutes.at(-1)];
    // A late minute may have had an outage, whose end is noted by `sealOne`.
    if (!first || !last || now - first.minute.getTime() >= OUTAGE_MS) return [];
    return [{ tenantId, minute: sealedMinute(last), dueAt: last.minute }];
  });
  // Each is sealed alone then, and fails alone.
  return sealLogs(run, tasks).catch(() => new Set<TenantId>());
}

function attempt({ onFailure }: Run, { tenantId }: LogMinute, work: () => Promise<void>): Promise<void> {
  return work().catch((error: unknown) => onFailure(tenantId, error));
}

function freeOld(run: Run, { tenantId, minute: dueAt }: LogMinute): Promise<void> {
  const { archiving, retentionDays: days } = run;
  const frees = archiving === "off" ? "all" : archiving ? "none" : "unarchived";
  return freeOldLog({ ...run, days, frees }, tenantId, { now: new Date(run.clock.now()), dueAt });
}

async function sealOne(run: Run, due: LogMinute): Promise<void> {
  const { tenantId, minute: dueAt } = due;
  const { outages, told, signal, onBroken } = run;
  const now = new Date(run.clock.now());
  const task = { minute: sealedMinute(due), dueAt, signal };
  const outcome: SealOutcome = await sealLog(run, tenantId, task).catch(async (error: unknown) => {
    // A database that is down takes no row either, and the first error says more.
    await outages.lasts(tenantId, dueAt, now).catch(() => {});
    throw error;
  });
  const isSealed = outcome === "sealed" || outcome === "broken";
  // Only late minutes can have had an outage.
  if (isSealed && now.getTime() - dueAt.getTime() >= OUTAGE_MS) await outages.ended(tenantId);
  if (outcome === "refused") await outages.lasts(tenantId, dueAt, now);
  if (outcome === "broken") onBroken(tenantId, outcome);
  if (outcome !== "refused" || told.has(tenantId)) return;
  told.set(tenantId, true);
  onBroken(tenantId, outcome);
}

function sealedMinute({ minute: dueAt }: LogMinute): Date {
  return new Date(dueAt.getTime() - SEALED_AFTER_MS);
}
