import type { Clock } from "../base/clock.js";
import { newUuid, type TenantId } from "../base/ids.js";
import { SealBroken } from "../crypto/sealed.js";
import type { TenantKeys } from "../crypto/tenant-keys.js";
import type { Database } from "../store/database.js";
import { type DueMinute, forgetDue, SWEPT_KINDS, type SweptKind } from "../store/due.js";
import { deleteDueIdempotencyKeys } from "../store/idempotency-keys.js";
import { deleteDueInvitations } from "../store/invitations.js";
import { deleteDueRuns } from "../store/reactor-runs.js";
import { REMOVED_AT_ONCE } from "../store/removal.js";
import { deleteDueSessions } from "../store/sessions.js";
import type { Statement } from "../store/statement.js";
import { deleteDueThreeDSSessions } from "../store/three-ds-sessions.js";
import { deleteDueCvc } from "../store/token-cvc.js";
import { listExpiredRows, type TokenRow } from "../store/tokens.js";
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
  const remove = kind === "token" ? expire(await keyring.of(tenantId)) : removal(REMOVALS[kind]);
  let outcome: Outcome = "more";
  while (outcome === "more") {
    outcome = await database.slow.run(tenantId, "unguarded", async (tx) => {
      const reached = await remove(tx);
      if (reached === "done") tx.tell(forgetDue, { kind, minute });
      return reached;
    });
  }
  if (outcome === "stuck") throw new Error("tokens that have expired cannot be opened, and are left");
}

/** What is left after a step: more of the same, nothing, or only what cannot be removed. */
type Outcome = "more" | "done" | "stuck";
type Step = (tx: Transaction) => Promise<Outcome>;

/** Tokens are removed one by one, with their log rows. One that somebody has tampered with holds up no other. */
function expire(keys: TenantKeys): Step {
  return async (tx) => {
    const rows = await tx.ask(listExpiredRows, { limit: BATCH });
    let broken = 0;
    const remove = (row: TokenRow) =>
      removeToken(tx, keys, row, expiryEntry(row)).catch((error: unknown) => {
        if (!(error instanceof SealBroken)) throw error;
        broken += 1;
      });
    await Promise.all(rows.map(remove));
    if (rows.length === BATCH && broken < BATCH) return "more";
    return broken > 0 ? "stuck" : "done";
  };
}

function removal(statement: Statement<"due", number>): Step {
  return async (tx) => ((await tx.ask(statement, "due")) < REMOVED_AT_ONCE ? "done" : "more");
}

const REMOVALS: Readonly<Record<Exclude<SweptKind, "token">, Statement<"due", number>>> = {
  cvc: deleteDueCvc,
  session: deleteDueSessions,
  idempotency_key: deleteDueIdempotencyKeys,
  reactor_result: deleteDueRuns,
  invitation: deleteDueInvitations,
  three_ds_session: deleteDueThreeDSSessions,
};
