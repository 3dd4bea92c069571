import { causeFields } from "../api/observation/log-cause.js";
import type { OperatorLog } from "../api/observation/operator-log.js";
import { type Job, Schedule } from "../jobs/schedule.js";
import type { Meters } from "../telemetry/meters.js";

export function openSchedule(log: OperatorLog, meters: Meters): Pick<Schedule, "start" | "abort" | "stop"> {
  const schedule = new Schedule(({ job, error, attempt, nextAt }) =>
    log.warn(
      { job: job.name, ...causeFields(error), attempt, ...(nextAt ? { next_at: nextAt.toISOString() } : {}) },
      "a job failed and will be tried again",
    ),
  );
  return {
    start: (jobs: readonly Job[]) => schedule.start(jobs.map((job) => meters.timed(job))),
    abort: () => schedule.abort(),
    stop: () => schedule.stop(),
  };
}
