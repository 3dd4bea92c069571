import { describe, expect, it } from "vitest";
import { type Job, Schedule } from "../../src/jobs/schedule.js";

describe("a schedule", () => {
  it("runs jobs again and again, also those that fail, and tells of it", async () => {
    const runs = { steady: 0, failing: 0 };
    const failed: string[] = [];
    const twice = Promise.withResolvers<void>();
    const count = (name: "steady" | "failing") => {
      runs[name] += 1;
      if (runs.steady >= 2 && runs.failing >= 2) twice.resolve();
    };
    const schedule = new Schedule(({ name }, error) => failed.push(`${name}: ${error}`));
    schedule.start([{ name: "steady", every: 1, run: async () => count("steady") }]);
    schedule.start([
      {
        ...{ name: "failing", every: 1 },
        async run() {
          count("failing");
          throw new Error("no");
        },
      },
    ]);
    await twice.promise;
    await schedule.stop();
    expect(failed).toHaveLength(runs.failing);
    expect(new Set(failed)).toEqual(new Set(["failing: Error: no"]));
    const before = { ...runs };
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(runs).toEqual(before);
  });

  it("tells runs under way to stop, and ends each job once after its last run", async () => {
    const told: string[] = [];
    const begun = Promise.withResolvers<void>();
    const over = Promise.withResolvers<void>();
    const long: Job = {
      ...{ name: "long", every: 1 },
      async run(signal) {
        signal.addEventListener("abort", () => told.push("told"));
        begun.resolve();
        await over.promise;
        told.push("over");
      },
      end: async () => void told.push("ended"),
    };
    const idle: Job = { ...long, name: "idle", every: 1e6, end: async () => Promise.reject(new Error("no")) };
    const schedule = new Schedule(({ name }) => told.push(`${name} failed`));
    schedule.start([long, idle]);
    await begun.promise;
    schedule.abort();
    const stopped = schedule.stop();
    await new Promise((resolve) => setTimeout(resolve, 5));
    expect(told).toEqual(["told", "idle failed"]);
    over.resolve();
    await stopped;
    expect(told).toEqual(["told", "idle failed", "over", "ended"]);
  });
});
