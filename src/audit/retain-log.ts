import type { TenantId } from "../base/ids.js";
import { deleteLogBefore, forgetLogDue, moveChainEnd, readRawLog } from "../store/audit-seals.js";
import { MINUTE_MS, noteDue } from "../store/due.js";
import { readLogClosing } from "../store/log-clock.js";
import { ChainMoved, readChain, signEnd } from "./chain.js";
import { attestWhenDue, nextDay, type SealParts, sealedUntil } from "./seal-log.js";

/** Rows that are removed in one transaction, or somewhat more. */
const BATCH = 5_000;
const DAY_MS = 24 * 60 * MINUTE_MS;

export interface Retention extends SealParts {
  /** Days that rows are kept for; 0: for ever. */
  readonly days: number;
}

/**
 * Removes the rows of a tenant that are older than they are to be kept, whole sealed minutes only. Their seals stay, and the
 * end of the chain says, under its mac, from when on rows must be there. Comes again the next day, also where nothing is
 * left: the operator may have set another number of days by then, and the chain is attested once a day. The signal ends it
 * between two batches: the rest is for the next run.
 */
export async function removeOldLog(
  parts: Retention,
  tenantId: TenantId,
  { now, dueAt, signal }: { readonly now: Date; readonly dueAt: Date; readonly signal?: AbortSignal },
): Promise<void> {
  const { database, keyring, days } = parts;
  const run = database.slow;
  const keys = await keyring.of(tenantId);
  const chain = await run.run(tenantId, "unguarded", (tx) => readChain(tx, keys));
  if (chain.isWhole) await attestWhenDue(parts, { database, keys, tenantId }, chain, now);
  if (days > 0) {
    const time = await run.run(tenantId, "unguarded", async (tx) => {
      const { stored, end, last, isWhole } = await readChain(tx, keys);
      // Of a tampered log nothing is removed: it is evidence.
      if (!stored || !end || !last || !isWhole) return undefined;
      const closing = await tx.query(readLogClosing, "closing");
      // A server whose clock runs fast removes nothing before its time by the database's clock.
      const today = Math.min(now.getTime(), closing?.now.getTime() ?? now.getTime());
      const wanted = Math.floor((today - days * DAY_MS) / MINUTE_MS) * MINUTE_MS;
      const keptFrom = new Date(Math.min(wanted, sealedUntil(last).getTime()));
      if (end.keptFrom && end.keptFrom >= keptFrom) return end.keptFrom;
      const moved = signEnd(keys, tenantId, { ...end, keptFrom });
      if (!(await tx.query(moveChainEnd, { before: stored.mac, end: moved }))) throw new ChainMoved();
      return keptFrom;
    });
    let removed = time ? BATCH : 0;
    while (time && removed >= BATCH) {
      removed = await run.run(tenantId, "unguarded", (tx) => tx.query(deleteLogBefore, { time, limit: BATCH }));
      if (signal?.aborted) return;
    }
  }
  await run.run(tenantId, "unguarded", async (tx) => {
    const any = { strand: "all", from: undefined, until: undefined, after: undefined, limit: 1 } as const;
    const [row] = await tx.query(readRawLog, any);
    if (row) noteDue(tx, { kind: "log_retention", at: nextDay(now) });
    tx.enqueue(forgetLogDue, { kind: "log_retention", minute: dueAt });
  });
}
