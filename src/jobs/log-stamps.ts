import { StampFailed, type StampParts, type StampTask, stampSeals } from "../audit/chain/stamp-seals.js";
import { type Clock, HOUR_MS, MINUTE_MS } from "../base/clock.js";
import type { TenantId } from "../base/ids.js";
import type { DueMinute } from "../store/jobs/due.js";
import { Backoff } from "./backoff.js";
import type { Job } from "./schedule.js";

const EVERY_MS = 10_000;
/** A run with 10,000 tenants stores their proofs within it. */
const LEASE_SECONDS = 300;
/** Waits after failures grow from the first to the last, in milliseconds. */
const WAITS = { first: MINUTE_MS, most: HOUR_MS };

export interface LogStampsParts extends StampParts {
  readonly clock: Clock;
  /** How long the oldest seal that is due for a stamp has been waiting, in seconds. */
  readonly onLag: (seconds: number) => void;
  /** The authority fails. Called at the first failure, and with `undefined` once it works again. */
  readonly onState: (problem: string | undefined) => void;
}

/** Has the last seals of each day stamped by the operator's time-stamp authority. One replica does it at a time. */
export function logStampsJob(parts: LogStampsParts): Job {
  const { database, clock, onLag, onState } = parts;
  const lease = database.lease("audit-stamps", LEASE_SECONDS);
  const backoff = new Backoff(WAITS, onState);
  return {
    name: "log stamps",
    intervalMs: EVERY_MS,
    async run(signal) {
      if (!(await lease.hold())) return onLag(0);
      const now = new Date(clock.now());
      const tasks = await dueTasks(parts, now);
      const [oldest] = tasks;
      if (tasks.length > 0 && !backoff.isResting) {
        try {
          await stampSeals(parts, tasks, signal);
          backoff.succeeded();
          return onLag(0);
        } catch (error) {
          if (signal.aborted) return;
          if (!(error instanceof StampFailed)) throw error;
          backoff.failed(error.message);
        }
      }
      onLag(oldest ? (now.getTime() - oldest.dueAt.getTime()) / 1_000 : 0);
    },
    end: () => lease.release(),
  };
}

/** Each tenant once, with its last due time; the tenant that waits longest first. */
async function dueTasks({ database }: LogStampsParts, now: Date): Promise<readonly StampTask[]> {
  const tasks = new Map<TenantId, Date>();
  let due: readonly DueMinute<"log_stamp">[] = [];
  do {
    due = await database.due(["log_stamp"], { now, after: due.at(-1) });
    for (const { tenantId, minute } of due) tasks.set(tenantId, minute);
  } while (due.length > 0);
  return [...tasks].map(([tenantId, dueAt]) => ({ tenantId, dueAt }));
}
