import { type ArchiveParts, archiveOldLog } from "../audit/archive/archive-old-log.js";
import { ArchiveFailure, type Archiving } from "../audit/archive/log-archive.js";
import {
  type BlockedMonth,
  type LogMonthsParts,
  makeLogMonths,
  oldestMonth,
  removeOldMonths,
  tenantsWithOldMonths,
} from "../audit/chain/log-months.js";
import { pruneVaultChain } from "../audit/chain/prune-vault-chain.js";
import type { SealParts } from "../audit/chain/seal-log.js";
import { type Clock, HOUR_MS, MINUTE_MS } from "../base/clock.js";
import type { TenantId } from "../base/ids.js";
import { monthStart, type StuckMonth } from "../store/audit/log-partitions.js";
import type { Job } from "./schedule.js";

const LEASE_SECONDS = 600;
/** The vault's own chain loses at most two months at a time, and so a day: see `pruneVaultChain`. */
const PRUNED_EVERY_SECONDS = 20 * 3_600;

export interface LogMonthsJobParts extends SealParts, Pick<LogMonthsParts, "address" | "ownerAddress"> {
  readonly clock: Clock;
  /** Days for which rows are kept; 0: forever. */
  readonly retentionDays: number;
  readonly archiving: Archiving;
  readonly onBlocked: (month: BlockedMonth) => void;
  /** How long the oldest month has been past its retention. 0: none is there. */
  readonly onLag: (seconds: number) => void;
  /** The archive began to fail, or works again (without a problem). */
  readonly onArchive: (problem: string | undefined) => void;
  /** A month of a tenant could not be archived. The next run tries again. */
  readonly onFailure: (tenantId: TenantId, error: unknown) => void;
  /** A month could not be made, or not removed. The next run tries again. */
  readonly onStuck: (month: StuckMonth, step: "made" | "removed") => void;
}

/**
 * Makes the months of the log ahead of time, and removes those past their retention. One replica does it at a time, and
 * lets another one do it if its login cannot.
 */
export function logMonthsJob(parts: LogMonthsJobParts): Job {
  const { database, clock, retentionDays: days, archiving, onBlocked, onStuck, onLag, onArchive } = parts;
  const lease = database.lease("log-months", LEASE_SECONDS);
  let hasFailed = false;
  const tellArchive = (problem: string | undefined) => {
    if ((problem !== undefined) !== hasFailed) onArchive(problem);
    hasFailed = problem !== undefined;
  };
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
      const today = new Date(Math.min(now.getTime(), (await database.ping()).getTime()));
      const oldest = oldestMonth(today, days);
      // A lease that is never renewed: until it expires, no process prunes the chain, also after a restart.
      const isDue = await database.lease("vault-chain-pruned", PRUNED_EVERY_SECONDS).hold();
      if (isDue) await pruneVaultChain(parts, oldest, signal);
      const archive = typeof archiving === "object" ? archiving : undefined;
      const isHeld = () => lease.hold();
      if (archive) tellArchive(await archiveOldLogs({ ...parts, archive, isHeld }, { oldest, now: today, signal }));
      const { blocked, stuck } = await removeOldMonths(parts, oldest);
      const waiting = Math.min(...[...blocked, ...stuck].map(({ month }) => monthStart(month, 1).getTime()));
      onLag(Math.max(0, (oldest.getTime() - waiting) / 1_000));
      for (const month of blocked) onBlocked(month);
      for (const month of stuck) onStuck(month, "removed");
      if (stuck.length > 0) await lease.release();
    },
    end: () => lease.release(),
  };
}

type ArchiveRun = ArchiveParts &
  Pick<LogMonthsJobParts, "ownerAddress" | "onFailure"> & {
    readonly isHeld: () => Promise<boolean>;
  };

/** Archives the old months of all logs. @returns what is wrong with the archive itself, which ends the run. */
async function archiveOldLogs(
  run: ArchiveRun,
  times: { readonly oldest: Date; readonly now: Date; readonly signal: AbortSignal },
): Promise<string | undefined> {
  for (const tenantId of await tenantsWithOldMonths(run.ownerAddress, times.oldest)) {
    if (times.signal.aborted || !(await run.isHeld())) return undefined;
    try {
      await archiveOldLog(run, tenantId, times);
    } catch (error) {
      if (error instanceof ArchiveFailure && error.isDown) return error.message;
      run.onFailure(tenantId, error);
    }
  }
  return undefined;
}
