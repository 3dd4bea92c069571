import { type BlockedMonth, type LogMonthsParts, oldestMonth, turnLogMonths } from "../audit/chain/log-months.js";
import { pruneVaultChain } from "../audit/chain/prune-vault-chain.js";
import type { SealParts } from "../audit/chain/seal-log.js";
import { type Clock, HOUR_MS } from "../base/clock.js";
import type { Job } from "./schedule.js";

const LEASE_SECONDS = 600;

export interface LogMonthsJobParts extends SealParts, Pick<LogMonthsParts, "ownerAddress"> {
  readonly clock: Clock;
  /** Days for which rows are kept; 0: forever. */
  readonly retentionDays: number;
  readonly onBlocked: (month: BlockedMonth) => void;
}

/** Makes the months of the log ahead of time, and removes those past their retention. One replica does it at a time. */
export function logMonthsJob(parts: LogMonthsJobParts): Job {
  const { database, clock, retentionDays: days, onBlocked } = parts;
  const lease = database.lease("log-months", LEASE_SECONDS);
  return {
    name: "log months",
    intervalMs: HOUR_MS,
    async run(signal) {
      if (!(await lease.hold())) return;
      const now = new Date(clock.now());
      if (days > 0) await pruneVaultChain(parts, oldestMonth(now, days), signal);
      for (const month of await turnLogMonths(parts, { now, days })) onBlocked(month);
    },
    end: () => lease.release(),
  };
}
