import type { Clock } from "../base/clock.js";
import { newUuid, type TenantId } from "../base/ids.js";
import type { Database } from "../store/database.js";
import { type DueMinute, forgetDue, SWEPT_KINDS, type SweptKind } from "../store/due.js";
import { deleteDueIdempotencyKeys } from "../store/idempotency-keys.js";
import { deleteDueInvitations } from "../store/invitations.js";
import { deleteDueRuns } from "../store/reactor-runs.js";
import { deleteDueSessions } from "../store/sessions.js";
import { deleteDueThreeDSSessions } from "../store/three-ds-sessions.js";
import { deleteDueCvc } from "../store/token-cvc.js";
import { listExpiredRows } from "../store/tokens.js";
import type { Transaction } from "../store/transaction.js";
import type { Keyring } from "../tenancy/keyring.js";
import { expiryEntry, removeToken } from "../tokens/delete.js";
import type { Job } from "./schedule.js";

/** A verification code is to be gone within a minute of its hour: four sweeps a minute leave room for slow ones. */
const EVERY_MS = 15_000;
const LEASE_SECONDS = 60;
/** 500 rows took 35 ms (storage study 4.5); smaller transactions hold locks for less. */
const BATCH = 200;

export interface SweepParts {
  readonly database: Database;
  readonly keyring: Keyring;
  readonly clock: Clock;
  readonly onFailure: (tenantId: TenantId, error: unknown) => void;
}

/**
 * Removes what is over: expired tokens, verification codes after their hour, sessions, stored answers, results of runs. One replica
 * sweeps at a time, for speed and not for safety: every step can be repeated.
 */
export function sweepJob(parts: SweepParts): Job {
  const holder = newUuid();
  return {
    name: "sweep",
    every: EVERY_MS,
    async run(signal) {
      if (!(await parts.database.lease("sweep", holder, LEASE_SECONDS))) return;
      let due: readonly DueMinute<SweptKind>[] = [];
      do {
        due = await parts.database.due(SWEPT_KINDS, new Date(parts.clock.now()), due.at(-1));
        await sweepAll(parts, due, signal);
      } while (due.length > 0 && !signal.aborted && (await parts.database.lease("sweep", holder, LEASE_SECONDS)));
    },
  };
}

/** One tenant that cannot be swept now holds up no other: its minute stays, and is met again. */
async function sweepAll(parts: SweepParts, due: readonly DueMinute<SweptKind>[], signal: AbortSignal): Promise<void> {
  for (const minute of due) {
    if (signal.aborted) return;
    await sweepTenant(parts, minute).catch((error: unknown) => parts.onFailure(minute.tenantId, error));
  }
}

async function sweepTenant(
  { database, keyring }: SweepParts,
  { tenantId, kind, minute }: DueMinute<SweptKind>,
): Promise<void> {
  const keys = kind === "token" ? await keyring.of(tenantId) : undefined;
  let removed: number;
  do {
    removed = await database.slow.run(tenantId, "unguarded", async (tx) => {
      if (keys) {
        const rows = await tx.ask(listExpiredRows, { limit: BATCH });
        await Promise.all(rows.map((row) => removeToken(tx, keys, row, expiryEntry(row))));
        if (rows.length === BATCH) return rows.length;
      } else {
        removeDue(tx, kind);
      }
      tx.tell(forgetDue, { kind, minute });
      return 0;
    });
  } while (removed > 0);
}

function removeDue(tx: Transaction, kind: SweptKind): void {
  switch (kind) {
    case "cvc":
      tx.tell(deleteDueCvc, "due");
      break;
    case "session":
      tx.tell(deleteDueSessions, "due");
      break;
    case "idempotency_key":
      tx.tell(deleteDueIdempotencyKeys, "due");
      break;
    case "reactor_result":
      tx.tell(deleteDueRuns, "due");
      break;
    case "invitation":
      tx.tell(deleteDueInvitations, "due");
      break;
    case "three_ds_session":
      tx.tell(deleteDueThreeDSSessions, "due");
      break;
    case "token":
      throw new Error("tokens are removed one by one, with their log rows");
  }
}
