import type { Clock } from "../base/clock.js";
import { CLOCKS_APART_MS, clockGap } from "../store/clock-gap.js";
import type { Database } from "../store/database.js";
import type { Job } from "./schedule.js";

/**
 * The same job, which does nothing while this server's clock is ahead of the database's: what it removes for good has not come
 * to its end yet. Another server, or this one once its clock is right, does it.
 */
export function timelyJob(database: Pick<Database, "ping">, clock: Clock, job: Job, onAhead: (job: Job) => void): Job {
  return {
    ...job,
    async run(signal) {
      if ((await clockGap(database, clock)) > CLOCKS_APART_MS) onAhead(job);
      else await job.run(signal);
    },
  };
}
