import type { TenantId } from "../base/ids.js";
import { deleteLogBefore, forgetLogDue, moveChainEnd, readRawLog } from "../store/audit-seals.js";
import { MINUTE_MS, noteDue } from "../store/due.js";
import { ChainMoved, readChain, signEnd } from "./chain.js";
import { nextDay, type SealParts } from "./seal-log.js";

/** Rows that are removed in one transaction, or somewhat more. */
const BATCH = 5_000;
const DAY_MS = 24 * 60 * MINUTE_MS;

export interface Retention extends SealParts {
  /** Days that rows are kept for; 0: for ever. */
  readonly days: number;
}

/**
 * Removes the rows of a tenant that are older than they are to be kept, whole sealed minutes only. Their seals stay, and the
 * end of the chain says, under its mac, from when on rows must be there. Comes again the next day while there are rows:
 * also where nothing is removed now, since the operator may have set another number of days by then. The signal ends it between
 * two batches: the rest is for the next run.
 */
export async function removeOldLog(
  { database, keyring, days }: Retention,
  tenantId: TenantId,
  { now, dueAt, signal }: { readonly now: Date; readonly dueAt: Date; readonly signal?: AbortSignal },
): Promise<void> {
  const run = database.slow;
  if (days > 0) {
    const keys = await keyring.of(tenantId);
    const time = await run.run(tenantId, "unguarded", async (tx) => {
      const { stored, last, isWhole } = await readChain(tx, keys);
      // Of a tampered log nothing is removed: it is evidence.
      if (!stored || !last || !isWhole) return undefined;
      const wanted = Math.floor((now.getTime() - days * DAY_MS) / MINUTE_MS) * MINUTE_MS;
      const keptFrom = new Date(Math.min(wanted, last.window_start.getTime() + MINUTE_MS));
      if (stored.kept_from && stored.kept_from >= keptFrom) return stored.kept_from;
      const end = signEnd(keys, tenantId, { number: stored.number, lastMac: stored.last_mac, keptFrom });
      if (!(await tx.ask(moveChainEnd, { before: stored.mac, end }))) throw new ChainMoved();
      return keptFrom;
    });
    let removed = time ? BATCH : 0;
    while (time && removed >= BATCH) {
      removed = await run.run(tenantId, "unguarded", (tx) => tx.ask(deleteLogBefore, { time, limit: BATCH }));
      if (signal?.aborted) return;
    }
  }
  await run.run(tenantId, "unguarded", async (tx) => {
    const [row] = await tx.ask(readRawLog, { from: undefined, until: undefined, after: undefined, limit: 1 });
    if (row) noteDue(tx, { kind: "log_retention", at: nextDay(now) });
    tx.tell(forgetLogDue, { kind: "log_retention", minute: dueAt });
  });
}
