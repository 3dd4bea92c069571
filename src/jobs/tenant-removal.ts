import type { Clock } from "../base/clock.js";
import type { TenantId } from "../base/ids.js";
import type { Database } from "../store/database.js";
import { type DueMinute, deleteAllDue, deleteDueMinute } from "../store/jobs/due.js";
import { removeRows } from "../tenancy/delete-tenant.js";
import type { Keyring } from "../tenancy/keyring.js";
import type { Job } from "./schedule.js";

const INTERVAL_MS = 5_000;
const LEASE_SECONDS = 60;

export interface TenantRemovalParts {
  readonly database: Database;
  readonly keyring: Keyring;
  readonly clock: Clock;
  readonly onFailure: (tenantId: TenantId, error: unknown) => void;
}

/**
 * Deletes the remaining rows of deleted tenants. Every replica drops their keys from its memory; one deletes the rows.
 * It continues until a minute after the deletion, because a transaction in flight may have left rows behind.
 */
export function tenantRemovalJob({ database, keyring, clock, onFailure }: TenantRemovalParts): Job {
  const lease = database.lease("tenant removal", LEASE_SECONDS);
  return {
    name: "tenant removal",
    intervalMs: INTERVAL_MS,
    async run(signal) {
      let due: readonly DueMinute<"tenant">[] = [];
      do {
        due = await database.due(["tenant"], { now: new Date(clock.now()), after: due.at(-1) });
        for (const { tenantId } of due) keyring.forget(tenantId);
        for (const minute of due) {
          if (signal.aborted || !(await lease.hold())) return;
          await remove(database, minute, signal).catch((error: unknown) => onFailure(minute.tenantId, error));
        }
      } while (due.length > 0 && !signal.aborted);
    },
    end: () => lease.release(),
  };
}

async function remove(database: Database, { tenantId, kind, minute }: DueMinute, signal: AbortSignal): Promise<void> {
  await removeRows(database, tenantId, signal);
  if (signal.aborted) return;
  await database.of(tenantId).bulk(async (tx) => {
    tx.enqueue(deleteAllDue, "all");
    tx.enqueue(deleteDueMinute, { kind, minute });
  });
}
