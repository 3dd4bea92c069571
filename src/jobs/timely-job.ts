import type { Clock } from "../base/clock.js";
import { clockGap, MAX_CLOCK_GAP_MS } from "../store/clock-gap.js";
import type { Database } from "../store/database.js";
import type { Job } from "./schedule.js";

/**
 * Wraps a job so it does nothing while this server's clock is ahead of the database's, because rows that it would
 * delete for good have not expired yet. Another server does it, or this one once its clock is right.
 */
export function skippedWhileClockIsAhead(
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
