import { describe, expect, it } from "vitest";
import type { Job } from "../../src/jobs/schedule.js";
import { unlessClockIsAhead } from "../../src/jobs/unless-clock-is-ahead.js";
import { MAX_CLOCK_GAP_MS } from "../../src/store/clock-gap.js";

describe("a job that deletes expired rows", () => {
  it.each([
    ["behind", -MAX_CLOCK_GAP_MS * 10, true],
    ["the same", 0, true],
    ["a little ahead", MAX_CLOCK_GAP_MS / 2, true],
    ["far ahead", MAX_CLOCK_GAP_MS * 10, false],
  ])("runs while this server's clock is %s: %s ms, %s", async (_, ahead, runs) => {
    const events: string[] = [];
    const job: Job = { name: "sweep", intervalMs: 1, run: async () => void events.push("run") };
    const database = { ping: async () => new Date(Date.now() - ahead) };
    const wrapped = unlessClockIsAhead(database, { now: Date.now }, job, ({ name }) => events.push(`${name} waits`));
    await wrapped.run(new AbortController().signal);
    expect(events).toEqual([runs ? "run" : "sweep waits"]);
  });
});
