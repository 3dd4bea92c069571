import { DAY_MS } from "../../base/clock.js";
import type { TenantId } from "../../base/ids.js";
import type { SinkName } from "../../sinks/sink.js";
import { deleteLogDue, moveChainHead, readSeal } from "../../store/audit/audit-seals.js";
import { readSinkPositions, type SinkPosition } from "../../store/audit/audit-sinks.js";
import { COUNTED_DAYS, COUNTED_HOURS_DAYS, forgetLogCounts, hasLogCounts } from "../../store/audit/log-counts.js";
import { monthStart } from "../../store/audit/log-partitions.js";
import { readRawLog } from "../../store/audit/raw-log.js";
import { scheduleDue } from "../../store/jobs/due.js";
import { openTenant } from "../tenant-database.js";
import { attestWhenDue } from "./attest-due.js";
import { ChainConflict, readChain, signHead } from "./chain.js";
import { oldestMonth } from "./log-months.js";
import { nextDay, sealedUntil } from "./next-seals.js";
import type { SealParts } from "./seal-log.js";

export interface Retention extends SealParts {
  /** Days for which rows are kept; 0 for no limit. */
  readonly days: number;
  /** Which logs free rows here. Those of archived months are freed after they were archived. */
  readonly frees: "all" | "unarchived" | "none";
}

/**
 * Months that one look at a log frees. Looks come once a day, so a vault that was off for a year has caught up within a
 * week; and if the clocks of the servers and of the database jump ahead by years, most of the log is left a day later.
 */
export const MONTHS_AT_ONCE = 2;

/**
 * Frees a tenant's rows of months that are past their retention, once they are sealed and in every sink: the head of the
 * chain says, under its MAC, from when on rows must exist. The months are removed as a whole when all tenants have freed
 * them (log-months.ts); the seals stay. One look frees at most {@link MONTHS_AT_ONCE}. Runs again the next day even if
 * nothing is to be freed: the retention may have changed by then, and the chain is attested once a day.
 */
export async function freeOldLog(
  parts: Retention,
  tenantId: TenantId,
  { now, dueAt }: { readonly now: Date; readonly dueAt: Date },
): Promise<void> {
  const { database, days, frees, sinks = [] } = parts;
  const log = await openTenant(parts, tenantId);
  const chain = await log.bulk((tx) => readChain(tx));
  if (chain.isWhole) await attestWhenDue(parts, [{ ...chain, keys: log.keys }], now);
  // A server with a fast clock must not remove rows early by the database's clock.
  const today = new Date(Math.min(now.getTime(), (await database.ping()).getTime()));
  if (days > 0 && frees !== "none") {
    await log.bulk(async (tx) => {
      const { stored, head, last, isWhole } = await readChain(tx);
      // A tampered log is evidence, so nothing is removed.
      if (!stored || !head || !last || !isWhole) return;
      if (head.archivedFrom && frees === "unarchived") return;
      const wanted = oldestMonth(today, days).getTime();
      const first = head.keptFrom ?? (await tx.query(readSeal, 1))?.window_start;
      const most = first ? monthStart(first, MONTHS_AT_ONCE).getTime() : wanted;
      const sent = sentUntil(await tx.query(readSinkPositions, "all"), sinks);
      const keptFrom = new Date(Math.min(wanted, most, sealedUntil(last).getTime(), sent));
      if (head.keptFrom && head.keptFrom >= keptFrom) return;
      const moved = signHead(tx.keys, { ...head, keptFrom, archivedFrom: undefined });
      if (!(await tx.query(moveChainHead, { before: stored.mac, head: moved }))) throw new ChainConflict();
    });
  }
  await log.bulk(async (tx) => {
    const any = { group: "all", from: undefined, until: undefined, after: undefined, limit: 1 } as const;
    const [row] = await tx.query(readRawLog, any);
    const daysAgo = (count: number) => new Date(today.getTime() - count * DAY_MS);
    forgetLogCounts(tx, {
      hoursBefore: daysAgo(COUNTED_HOURS_DAYS),
      daysBefore: daysAgo(COUNTED_DAYS),
      // What persons and programs did is kept no longer than the rows that say it.
      actorsBefore: daysAgo(days > 0 ? Math.min(days, COUNTED_DAYS) : COUNTED_DAYS),
    });
    // Counts outlive the rows.
    if (row || (await tx.query(hasLogCounts, "any"))) scheduleDue(tx, { kind: "log_retention", at: nextDay(today) });
    // A sink or an authority that was set up since the last row gets the log within a day.
    for (const sink of row ? sinks : []) scheduleDue(tx, { kind: `log_${sink}`, at: tx.now });
    if (row && parts.isStamped) scheduleDue(tx, { kind: "log_stamp", at: tx.now });
    // Also those of the days since then: one look is enough for them.
    tx.enqueue(deleteLogDue, { kind: "log_retention", minute: now > dueAt ? now : dueAt });
  });
}

/** The time before which every sink of the configuration has all rows, in milliseconds. */
export function sentUntil(positions: ReadonlyMap<string, SinkPosition>, sinks: readonly SinkName[]): number {
  return Math.min(...sinks.map((sink) => positions.get(sink)?.sentUntil.getTime() ?? 0));
}
