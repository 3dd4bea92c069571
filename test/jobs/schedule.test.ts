import { describe, expect, it } from "vitest";
import { type Job, type JobFailure, Schedule } from "../../src/jobs/schedule.js";

describe("a schedule", () => {
  it("runs jobs repeatedly, also those that fail, and reports it", async () => {
    const runs = { steady: 0, failing: 0 };
    const failed: JobFailure[] = [];
    const twice = Promise.withResolvers<void>();
    const count = (name: "steady" | "failing") => {
      runs[name] += 1;
      if (runs.steady >= 2 && runs.failing >= 2) twice.resolve();
    };
    const schedule = new Schedule((failure) => failed.push(failure));
    schedule.start([{ name: "steady", intervalMs: 1, run: async () => count("steady") }]);
    schedule.start([
      {
        ...{ name: "failing", intervalMs: 1 },
        async run() {
          count("failing");
          throw new Error("no");
        },
      },
    ]);
    await twice.promise;
    await schedule.stop();
    expect(failed.map(({ job, error, attempt }) => `${job.name} ${attempt}: ${error}`)).toEqual(
      Array.from({ length: runs.failing }, (_, index) => `failing ${index + 1}: Error: no`),
    );
    expect(failed[0]?.nextAt).toBeInstanceOf(Date);
    const before = { ...runs };
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(runs).toEqual(before);
  });

  it("tells jobs in progress to stop, and ends each job once after its last run", async () => {
    const told: string[] = [];
    const begun = Promise.withResolvers<void>();
    const over = Promise.withResolvers<void>();
    const long: Job = {
      ...{ name: "long", intervalMs: 1 },
      async run(signal) {
        signal.addEventListener("abort", () => told.push("told"));
        begun.resolve();
        await over.promise;
        told.push("over");
      },
      end: async () => void told.push("ended"),
    };
    const idle: Job = { ...long, name: "idle", intervalMs: 1e6, end: async () => Promise.reject(new Error("no")) };
    const schedule = new Schedule(({ job, nextAt }) => told.push(`${job.name} failed, next: ${nextAt}`));
    schedule.start([long, idle]);
    await begun.promise;
    schedule.abort();
    const stopped = schedule.stop();
    await new Promise((resolve) => setTimeout(resolve, 5));
    expect(told).toEqual(["told", "idle failed, next: undefined"]);
    over.resolve();
    await stopped;
    expect(told).toEqual(["told", "idle failed, next: undefined", "over", "ended"]);
  });
});
