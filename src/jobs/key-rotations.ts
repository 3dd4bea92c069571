import { type Clock, DAY_MS } from "../base/clock.js";
import type { TenantId } from "../base/ids.js";
import type { Database } from "../store/database.js";
import { type DueMinute, deleteDueMinute, scheduleDue } from "../store/jobs/due.js";
import type { BrokenRows } from "../tenancy/broken-rows.js";
import type { Keyring } from "../tenancy/keyring.js";
import { finishRotation, RETIRE_AFTER_MS } from "../tenancy/tenant-rotation.js";
import type { Job } from "./schedule.js";

const INTERVAL_MS = 15_000;
/**
 * An operator must repair rows that do not open. Until then each further check, which reads all rows of a tenant, finds
 * them again.
 */
const BROKEN_AGAIN_MS = DAY_MS;

export interface KeyRotationParts {
  readonly database: Database;
  readonly keyring: Keyring;
  readonly clock: Clock;
  readonly onFailure: (tenantId: TenantId, error: unknown) => void;
  /** Called when a rotation is complete except for rows that do not open. The replaced keys are kept. */
  readonly onBroken: (tenantId: TenantId, rows: BrokenRows) => void;
}

/** Continues rotations of tenants' keys that a command began and did not finish. One replica works on a tenant at a time. */
export function keyRotationsJob({ database, keyring, clock, onFailure, onBroken }: KeyRotationParts): Job {
  const forget = ({ tenantId, kind, minute }: DueMinute, again: Date | undefined) =>
    database.of(tenantId).ordinary(async (tx) => {
      tx.enqueue(deleteDueMinute, { kind, minute });
      if (again) scheduleDue(tx, { kind, at: again });
    });
  return {
    name: "key rotations",
    intervalMs: INTERVAL_MS,
    async run(signal) {
      for (const due of await database.due(["key_rotation"], { now: new Date(clock.now()) })) {
        if (signal.aborted) return;
        const { tenantId } = due;
        const options = { retireAfter: RETIRE_AFTER_MS, onProgress: () => {}, signal };
        const outcome = await finishRotation({ database, keyring, clock }, tenantId, options).catch(
          (error: unknown) => {
            if (!signal.aborted) onFailure(tenantId, error);
            return { state: "failed" } as const;
          },
        );
        if (outcome.state === "done") await forget(due, undefined);
        if (outcome.state !== "broken") continue;
        onBroken(tenantId, outcome.rows);
        await forget(due, new Date(clock.now() + BROKEN_AGAIN_MS));
      }
    },
  };
}
