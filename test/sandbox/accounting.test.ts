import { describe, expect, test } from "vitest";
import { CodeHold } from "../../src/sandbox/code-hold.js";
import { Histogram } from "../../src/sandbox/histogram.js";
import { SandboxCounters } from "../../src/sandbox/metrics.js";
import { settingsOf } from "../../src/sandbox/options.js";
import { failed } from "../../src/sandbox/run.js";

describe("code that cost threads", () => {
  test("is held after so many within the time, and no longer than that", () => {
    let now = 0;
    const hold = new CodeHold({ kills: 2, ms: 1_000 }, () => now);
    expect([hold.isHeld("a"), hold.add("a"), hold.isHeld("a")]).toEqual([false, false, false]);
    now = 500;
    expect([hold.add("a"), hold.isHeld("a"), hold.isHeld("b")]).toEqual([true, true, false]);
    now = 1_001;
    expect(hold.isHeld("a")).toBe(false);
    expect(hold.add("a")).toBe(true);
  });

  test("is forgotten when there is too much of it", () => {
    const hold = new CodeHold({ kills: 1, ms: 1_000 }, () => 0);
    for (let i = 0; i <= 10_000; i++) hold.add(`code ${i}`);
    expect([hold.isHeld("code 0"), hold.isHeld("code 1"), hold.isHeld("code 10000")]).toEqual([false, true, true]);
  });
});

describe("counts", () => {
  test("of durations are cumulative, in seconds", () => {
    const histogram = new Histogram();
    for (const ms of [0.4, 3, 700, 99_000]) histogram.observe(ms);
    const { buckets, count, sum } = histogram.snapshot();
    expect([count, sum]).toEqual([4, expect.closeTo(99.7034)]);
    const at = (le: number) => buckets.find((bucket) => bucket.le === le)?.count;
    expect([at(0.0005), at(0.0025), at(0.005), at(1), at(30)]).toEqual([1, 1, 2, 3, 3]);
  });

  test("of runs are by result", () => {
    const counters = new SandboxCounters();
    counters.ended({ kind: "returned", value: 1, console: [] }, 1);
    counters.ended({ kind: "returned", value: 1, console: [] }, 2);
    counters.ended(failed("timeout"), 3);
    counters.reported({ outcome: failed("timeout"), cold: true, waitedMs: 7, threadEnded: true });
    expect(counters.snapshot(5)).toMatchObject({
      runs: { returned: 2, timeout: 1 },
      coldStarts: 1,
      threadsEnded: 1,
      underWay: 5,
      wait: { count: 1, sum: 0.007 },
      duration: { count: 3 },
    });
  });
});

describe("settings", () => {
  test("are the defaults where nothing was chosen", () => {
    const { runner, hold } = settingsOf({});
    expect(runner.threads).toBeGreaterThanOrEqual(4);
    expect(runner.threads).toBeLessThanOrEqual(16);
    expect(runner).toMatchObject({
      callsPerThread: 16,
      queue: { total: 1_000, waitMs: 5_000 },
      instances: { calls: 1_000, idleMs: 300_000 },
      kill: { graceMs: 500, silenceMs: 2_000 },
    });
    expect(hold).toEqual({ kills: 3, ms: 60_000 });
  });

  test("can be chosen one by one", () => {
    const { runner } = settingsOf({ threads: 2, queue: { waitMs: 1 }, kill: { graceMs: 7 } });
    expect(runner).toMatchObject({
      threads: 2,
      queue: { total: 1_000, waitMs: 1 },
      kill: { graceMs: 7, silenceMs: 2_000 },
    });
  });
});
