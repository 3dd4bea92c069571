import type { Clock } from "../base/clock.js";
import { clockGap, MAX_CLOCK_GAP_MS } from "../store/clock-gap.js";
import type { Database } from "../store/database.js";
import type { Job } from "./schedule.js";

/**
 * Wraps a job to do nothing while this server's clock is ahead of the database's by more than
 * {@link MAX_CLOCK_GAP_MS}, because rows that it would delete for good have not expired yet. Another server does it, or
 * this one once its clock is right.
 */
export function unlessClockIsAhead(
  database: Pick<Database, "ping">,
  clock: Clock,
  job: Job,
  onAhead: (job: Job) => void,
): Job {
  return {
    ...job,
    async run(signal) {
      if ((await clockGap(database, clock)) > MAX_CLOCK_GAP_MS) onAhead(job);
      else await job.run(signal);
    },
  };
}
