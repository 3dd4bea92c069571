import { type Clock, MINUTE_MS } from "../base/clock.js";
import type { TenantId } from "../base/ids.js";
import type { Database } from "../store/database.js";
import type { DueMinute, StartedKind } from "../store/jobs/due.js";
import type { Statement } from "../store/statements/statement.js";
import { forgetFinished } from "./finished-minute.js";
import type { Job } from "./schedule.js";

/** The replica that took the request starts its work. This job finds the rest: retries, and work of lost replicas. */
const INTERVAL_MS = 2_000;

export interface TenantWorkParts {
  readonly name: string;
  readonly kind: StartedKind;
  readonly database: Database;
  readonly clock: Clock;
  /** Whether unfinished work is due before a time. */
  readonly isPending: Statement<Date, boolean>;
  readonly wake: (tenantId: TenantId) => void;
  readonly onFailure: (tenantId: TenantId, error: unknown) => void;
}

/** Wakes the tenants that have work of a kind. Every replica runs this: work that must not be done twice is leased. */
export function tenantWorkJob({ name, kind, database, clock, isPending, wake, onFailure }: TenantWorkParts): Job {
  return {
    name,
    intervalMs: INTERVAL_MS,
    async run(signal) {
      const now = new Date(clock.now());
      let due: readonly DueMinute[] = [];
      do {
        due = await database.due([kind], { now, after: due.at(-1) });
        for (const minute of due) {
          wake(minute.tenantId);
          if (minute.minute.getTime() + MINUTE_MS > now.getTime()) continue;
          await forgetFinished(database, minute, isPending).catch((error: unknown) =>
            onFailure(minute.tenantId, error),
          );
        }
      } while (due.length > 0 && !signal.aborted);
    },
  };
}
