import { type Clock, MINUTE_MS } from "../base/clock.js";
import type { TenantId } from "../base/ids.js";
import type { RunQueue } from "../reactors/run-queue.js";
import type { Database } from "../store/database.js";
import { hasRunsDue } from "../store/functions/reactor-runs.js";
import { type DueMinute, deleteDueMinute } from "../store/jobs/due.js";
import type { Job } from "./schedule.js";

/** The replica that took the request starts its run. This job finds the others: retries, and runs of lost replicas. */
const INTERVAL_MS = 2_000;

export interface ReactorRunsParts {
  readonly database: Database;
  readonly queue: RunQueue;
  readonly clock: Clock;
  readonly onFailure: (tenantId: TenantId, error: unknown) => void;
}

/** Wakes the tenants that have runs to start. Every replica runs this: runs are leased one by one. */
export function reactorRunsJob({ database, queue, clock, onFailure }: ReactorRunsParts): Job {
  return {
    name: "reactor runs",
    intervalMs: INTERVAL_MS,
    async run(signal) {
      const now = new Date(clock.now());
      let due: readonly DueMinute[] = [];
      do {
        due = await database.due(["reactor_run"], now, due.at(-1));
        for (const minute of due) {
          queue.wake(minute.tenantId);
          if (minute.minute.getTime() + MINUTE_MS > now.getTime()) continue;
          await forgetFinished(database, minute).catch((error: unknown) => onFailure(minute.tenantId, error));
        }
      } while (due.length > 0 && !signal.aborted);
    },
  };
}

/** A minute stays while it has a pending run, because the replica that leased the run may be gone tomorrow. */
async function forgetFinished(database: Database, { tenantId, kind, minute }: DueMinute): Promise<void> {
  await database.bulk.run(tenantId, "unguarded", async (tx) => {
    const isPending = await tx.query(hasRunsDue, new Date(minute.getTime() + MINUTE_MS));
    if (!isPending) tx.enqueue(deleteDueMinute, { kind, minute });
  });
}
