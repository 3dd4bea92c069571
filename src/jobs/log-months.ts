import {
  type BlockedMonth,
  type LogMonthsParts,
  makeLogMonths,
  oldestMonth,
  removeOldMonths,
} from "../audit/chain/log-months.js";
import { pruneVaultChain } from "../audit/chain/prune-vault-chain.js";
import type { SealParts } from "../audit/chain/seal-log.js";
import { type Clock, HOUR_MS, MINUTE_MS } from "../base/clock.js";
import type { StuckMonth } from "../store/audit/log-partitions.js";
import type { Job } from "./schedule.js";

const LEASE_SECONDS = 600;
/** The vault's own chain loses at most two months at a time, and so a day: see `pruneVaultChain`. */
const PRUNED_EVERY_MS = 20 * HOUR_MS;

export interface LogMonthsJobParts extends SealParts, Pick<LogMonthsParts, "address" | "ownerAddress"> {
  readonly clock: Clock;
  /** Days for which rows are kept; 0: forever. */
  readonly retentionDays: number;
  readonly onBlocked: (month: BlockedMonth) => void;
  /** A month could not be made, or not removed. The next run tries again. */
  readonly onStuck: (month: StuckMonth, step: "made" | "removed") => void;
}

/**
 * Makes the months of the log ahead of time, and removes those past their retention. One replica does it at a time, and
 * lets another one do it if its login cannot.
 */
export function logMonthsJob(parts: LogMonthsJobParts): Job {
  const { database, clock, retentionDays: days, onBlocked, onStuck } = parts;
  const lease = database.lease("log-months", LEASE_SECONDS);
  let prunedAt = Number.NEGATIVE_INFINITY;
  return {
    name: "log months",
    intervalMs: HOUR_MS,
    firstMs: MINUTE_MS,
    async run(signal) {
      if (!(await lease.hold())) return;
      const now = new Date(clock.now());
      for (const month of await makeLogMonths(parts, now)) onStuck(month, "made");
      if (days === 0) return;
      // What is removed is gone: of two clocks, one of which may be fast, the earlier one counts.
      const oldest = oldestMonth(new Date(Math.min(now.getTime(), (await database.ping()).getTime())), days);
      if (performance.now() - prunedAt >= PRUNED_EVERY_MS) {
        await pruneVaultChain(parts, oldest, signal);
        prunedAt = performance.now();
      }
      const { blocked, stuck } = await removeOldMonths(parts, oldest);
      for (const month of blocked) onBlocked(month);
      for (const month of stuck) onStuck(month, "removed");
      if (stuck.length > 0) await lease.release();
    },
    end: () => lease.release(),
  };
}
