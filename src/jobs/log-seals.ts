import { LRUCache } from "lru-cache";
import { removeOldLog } from "../audit/chain/retain-log.js";
import { type SealOutcome, type SealParts, sealLog } from "../audit/chain/seal-log.js";
import { LogOutages, OUTAGE_MS } from "../audit/delivery/log-outages.js";
import { type Clock, HOUR_MS } from "../base/clock.js";
import type { TenantId } from "../base/ids.js";
import { SEALED_AFTER_MS } from "../store/audit/audit-logs.js";
import { type DueMinute, LOG_KINDS, type LogDueKind } from "../store/jobs/due.js";
import { SEALING_LEASE } from "../store/tenancy/operator-tenants.js";
import type { Job } from "./schedule.js";

/** A minute must be sealed 60 s after its end, with ten seconds of tolerance. */
const INTERVAL_MS = 10_000;
const LEASE_SECONDS = 60;
/** Each run finds a chain that waits for an operator, but reports it only once an hour. */
const TOLD_EVERY_MS = HOUR_MS;

export interface LogSealsParts extends SealParts {
  readonly clock: Clock;
  /** Days for which rows are kept; 0: forever. */
  readonly retentionDays: number;
  readonly onFailure: (tenantId: TenantId, error: unknown) => void;
  /**
   * Called when the chain of seals was tampered with. It continues with a gap (`broken`), or is not sealed until an
   * operator lets it continue (`refused`).
   */
  readonly onBroken: (tenantId: TenantId, outcome: "broken" | "refused") => void;
}

/**
 * Seals each tenant's log minute by minute, and deletes rows past their retention. One replica does it at a time, for
 * speed and not for safety: two replicas would find each other's seals.
 */
export function logSealsJob(parts: LogSealsParts): Job {
  const { database, clock } = parts;
  const lease = database.lease(SEALING_LEASE, LEASE_SECONDS);
  const outages = new LogOutages(database, "sealing");
  const told = new LRUCache<TenantId, true>({ max: 10_000, ttl: TOLD_EVERY_MS });
  return {
    name: "log seals",
    intervalMs: INTERVAL_MS,
    async run(signal) {
      if (!(await lease.hold())) return outages.forget();
      let due: readonly DueMinute<LogDueKind>[] = [];
      do {
        due = await database.due(LOG_KINDS, new Date(clock.now()), due.at(-1));
        for (const minute of due) {
          if (signal.aborted) return;
          await serve({ ...parts, outages }, minute, signal, told).catch((error: unknown) =>
            parts.onFailure(minute.tenantId, error),
          );
        }
      } while (due.length > 0 && !signal.aborted && (await lease.hold()));
    },
    end: () => lease.release(),
  };
}

interface SealingParts extends LogSealsParts {
  readonly outages: LogOutages;
}

async function serve(
  parts: SealingParts,
  { tenantId, kind, minute: dueAt }: DueMinute<LogDueKind>,
  signal: AbortSignal,
  told: LRUCache<TenantId, true>,
): Promise<void> {
  if (kind === "log_retention") {
    const now = new Date(parts.clock.now());
    return removeOldLog({ ...parts, days: parts.retentionDays }, tenantId, { now, dueAt, signal });
  }
  const minute = new Date(dueAt.getTime() - SEALED_AFTER_MS);
  const now = new Date(parts.clock.now());
  const outcome: SealOutcome = await sealLog(parts, tenantId, { minute, dueAt, signal }).catch(
    async (error: unknown) => {
      // A database that is down takes no row either, and the first error says more.
      await parts.outages.lasts(tenantId, dueAt, now).catch(() => {});
      throw error;
    },
  );
  const isSealed = outcome === "sealed" || outcome === "broken";
  // Only late minutes can have had an outage.
  if (isSealed && now.getTime() - dueAt.getTime() >= OUTAGE_MS) await parts.outages.ended(tenantId);
  if (outcome === "refused") await parts.outages.lasts(tenantId, dueAt, now);
  if (outcome === "broken") parts.onBroken(tenantId, outcome);
  if (outcome !== "refused" || told.has(tenantId)) return;
  told.set(tenantId, true);
  parts.onBroken(tenantId, outcome);
}
