import type { Clock } from "../base/clock.js";
import type { TenantId } from "../base/ids.js";
import type { Database } from "../store/database.js";
import { forgetDue } from "../store/due.js";
import type { Keyring } from "../tenancy/keyring.js";
import { finishRotation, RETIRE_AFTER_MS } from "../tenancy/rotation.js";
import type { Job } from "./schedule.js";

const EVERY_MS = 15_000;

export interface KeyRotationParts {
  readonly database: Database;
  readonly keyring: Keyring;
  readonly clock: Clock;
  readonly onFailure: (tenantId: TenantId) => void;
}

/** Ends rotations of tenants' keys whose command was cut off. One replica works on a tenant at a time. */
export function keyRotationsJob({ database, keyring, clock, onFailure }: KeyRotationParts): Job {
  return {
    name: "key rotations",
    every: EVERY_MS,
    async run(signal) {
      for (const { tenantId, kind, minute } of await database.due(["key_rotation"], new Date(clock.now()), undefined)) {
        if (signal.aborted) return;
        const options = { retireAfter: RETIRE_AFTER_MS, onProgress: () => {}, signal };
        const outcome = await finishRotation({ database, keyring, clock }, tenantId, options).catch(() => {
          if (!signal.aborted) onFailure(tenantId);
          return "failed";
        });
        if (outcome !== "done") continue;
        await database.fast.run(tenantId, "unguarded", async (tx) => tx.tell(forgetDue, { kind, minute }));
      }
    },
  };
}
