import { describe, expect, test } from "vitest";
import { CircuitBreaker } from "../../src/sandbox/circuit-breaker.js";
import { Histogram } from "../../src/sandbox/histogram.js";
import { SandboxCounters } from "../../src/sandbox/metrics.js";
import { sandboxSettings } from "../../src/sandbox/options.js";
import { failed } from "../../src/sandbox/run.js";

describe("a circuit breaker", () => {
  test("opens after the configured failures within the period, and closes when the first of them has expired", () => {
    let now = 0;
    const breaker = new CircuitBreaker({ failures: 2, ms: 1_000 }, () => now);
    expect([breaker.openFor("a"), breaker.fail("a"), breaker.openFor("a")]).toEqual([0, false, 0]);
    now = 500;
    expect([breaker.fail("a"), breaker.openFor("a"), breaker.openFor("b")]).toEqual([true, 500, 0]);
    now = 1_001;
    expect(breaker.openFor("a")).toBe(0);
    expect(breaker.fail("a")).toBe(true);
  });

  test("reports its opening once", () => {
    const breaker = new CircuitBreaker({ failures: 2, ms: 1_000 }, () => 0);
    expect([breaker.fail("a"), breaker.fail("a"), breaker.fail("a")]).toEqual([false, true, false]);
  });

  test("forgets the keys that failed longest ago", () => {
    const breaker = new CircuitBreaker({ failures: 1, ms: 1_000 }, () => 0);
    for (let i = 0; i <= 10_000; i++) breaker.fail(`code ${i}`);
    expect(["code 0", "code 1", "code 10000"].map((key) => breaker.openFor(key))).toEqual([0, 1_000, 1_000]);
  });
});

describe("counts", () => {
  test("add durations up, in seconds", () => {
    const histogram = new Histogram();
    for (const ms of [0.4, 3, 700, 99_000]) histogram.observe(ms);
    const { buckets, count, sum } = histogram.snapshot();
    expect([count, sum]).toEqual([4, expect.closeTo(99.7034)]);
    const at = (le: number) => buckets.find((bucket) => bucket.le === le)?.count;
    expect([at(0.0005), at(0.0025), at(0.005), at(1), at(30)]).toEqual([1, 1, 2, 3, 3]);
  });

  test("are kept by result for runs", () => {
    const counters = new SandboxCounters();
    counters.ended({ kind: "returned", value: 1, console: [], usage: undefined }, 1);
    counters.ended({ kind: "returned", value: 1, console: [], usage: undefined }, 2);
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
  test("have the documented defaults", () => {
    const { runner, breaker } = sandboxSettings({});
    expect(runner.threads).toBeGreaterThanOrEqual(4);
    expect(runner.threads).toBeLessThanOrEqual(16);
    expect(runner).toMatchObject({
      callsPerThread: 16,
      queue: { total: 1_000, waitMs: 5_000 },
      instances: { calls: 1_000, idleMs: 300_000 },
      kill: { graceMs: 500, silenceMs: 2_000 },
    });
    expect(breaker).toEqual({
      byFunction: { failures: 3, ms: 60_000 },
      byTenant: { failures: 6, ms: 120_000 },
    });
  });

  test("can be set one by one", () => {
    const { runner } = sandboxSettings({ threads: 2, queue: { waitMs: 1 }, kill: { graceMs: 7 } });
    expect(runner).toMatchObject({
      threads: 2,
      queue: { total: 1_000, waitMs: 1 },
      kill: { graceMs: 7, silenceMs: 2_000 },
    });
  });
});
