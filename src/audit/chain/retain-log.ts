import { DAY_MS, MINUTE_MS } from "../../base/clock.js";
import type { TenantId } from "../../base/ids.js";
import type { SinkName } from "../../sinks/sink.js";
import { deleteLogDue, moveChainHead } from "../../store/audit/audit-seals.js";
import { readSinkPositions, type SinkPosition } from "../../store/audit/audit-sinks.js";
import { readLogClosing } from "../../store/audit/log-clock.js";
import { deleteLogBefore, readRawLog } from "../../store/audit/raw-log.js";
import { scheduleDue } from "../../store/jobs/due.js";
import { asServer } from "../tenant-database.js";
import { attestWhenDue } from "./attest-due.js";
import { ChainConflict, readChain, signHead } from "./chain.js";
import { nextDay, sealedUntil } from "./next-seals.js";
import type { SealParts } from "./seal-log.js";

/** Approximate number of rows that one transaction removes. */
const BATCH = 5_000;

export interface Retention extends SealParts {
  /** Days for which rows are kept; 0 for no limit. */
  readonly days: number;
}

/**
 * Removes a tenant's rows that are past their retention and in every sink, in whole sealed minutes. Their seals stay,
 * and the head of the chain says, under its MAC, from when on rows must exist. Runs again the next day even if nothing
 * is left: the retention may have changed by then, and the chain is attested once a day. The signal ends it between two
 * batches; the next run does the rest.
 */
export async function removeOldLog(
  parts: Retention,
  tenantId: TenantId,
  { now, dueAt, signal }: { readonly now: Date; readonly dueAt: Date; readonly signal?: AbortSignal },
): Promise<void> {
  const { database, keyring, days, sinks = [] } = parts;
  const keys = await keyring.of(tenantId);
  const log = asServer(database, keys);
  const chain = await log.bulk((tx) => readChain(tx));
  if (chain.isWhole) await attestWhenDue(parts, [{ ...chain, keys }], now);
  if (days > 0) {
    const time = await log.bulk(async (tx) => {
      const { stored, head, last, isWhole } = await readChain(tx);
      // A tampered log is evidence, so nothing is removed.
      if (!stored || !head || !last || !isWhole) return undefined;
      const closing = await tx.query(readLogClosing, "closing");
      // A server with a fast clock must not remove rows early by the database's clock.
      const today = Math.min(now.getTime(), closing?.now.getTime() ?? now.getTime());
      const wanted = Math.floor((today - days * DAY_MS) / MINUTE_MS) * MINUTE_MS;
      const sent = sentUntil(await tx.query(readSinkPositions, "all"), sinks);
      const keptFrom = new Date(Math.min(wanted, sealedUntil(last).getTime(), sent));
      if (head.keptFrom && head.keptFrom >= keptFrom) return head.keptFrom;
      const moved = signHead(keys, { ...head, keptFrom });
      if (!(await tx.query(moveChainHead, { before: stored.mac, head: moved }))) throw new ChainConflict();
      return keptFrom;
    });
    let removed = time ? BATCH : 0;
    while (time && removed >= BATCH) {
      removed = await log.bulk((tx) => tx.query(deleteLogBefore, { time, limit: BATCH }));
      if (signal?.aborted) return;
    }
  }
  await log.bulk(async (tx) => {
    const any = { group: "all", from: undefined, until: undefined, after: undefined, limit: 1 } as const;
    const [row] = await tx.query(readRawLog, any);
    if (row) scheduleDue(tx, { kind: "log_retention", at: nextDay(now) });
    // A sink or an authority that was set up since the last row gets the log within a day.
    for (const sink of row ? sinks : []) scheduleDue(tx, { kind: `log_${sink}`, at: tx.now });
    if (row && parts.isStamped) scheduleDue(tx, { kind: "log_stamp", at: tx.now });
    tx.enqueue(deleteLogDue, { kind: "log_retention", minute: dueAt });
  });
}

/** The time before which every sink of the configuration has all rows, in milliseconds. */
function sentUntil(positions: ReadonlyMap<string, SinkPosition>, sinks: readonly SinkName[]): number {
  return Math.min(...sinks.map((sink) => positions.get(sink)?.sentUntil.getTime() ?? 0));
}
