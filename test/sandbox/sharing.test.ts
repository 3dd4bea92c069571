import { afterEach, describe, expect, test } from "vitest";
import type { Json } from "../../src/base/json.js";
import type { SandboxOptions } from "../../src/sandbox/options.js";
import { awaitedLater } from "../support/awaited-later.js";
import { exporting, type OpenSandbox, openSandbox } from "./support/open-sandbox.js";

const open: OpenSandbox[] = [];
function opened(options: SandboxOptions): OpenSandbox {
  const sandbox = openSandbox(options);
  open.push(sandbox);
  return sandbox;
}
afterEach(async () => {
  for (const sandbox of open.splice(0)) await sandbox[Symbol.asyncDispose]();
});

const looping = exporting("() => { for (;;); }");
const waiting = exporting("({ bt }) => bt.tokenize(1)");
const quick = exporting("() => 1");
/** Longer than a test may last: what returns meanwhile has not waited for the end of such a run. */
const BEYOND_THE_TEST_MS = 120_000;

describe("tenants share the threads", () => {
  test("another tenant's calls are answered, however many calls one makes", async () => {
    const sandbox = opened({ threads: 4 });
    await sandbox.value(quick);
    const loops = Array.from({ length: 40 }, () =>
      sandbox.run(looping, { key: { tenantId: "greedy" }, limits: { wallMs: BEYOND_THE_TEST_MS } }),
    );
    for (let i = 0; i < 10; i++) {
      expect(await sandbox.value(quick, { key: { tenantId: `modest ${i % 2}` } })).toBe(1);
    }
    expect(sandbox.sandbox.metrics.runs).toEqual({ returned: 11 });
    await sandbox[Symbol.asyncDispose]();
    await Promise.all(loops);
  });

  test("another tenant's calls are answered, however much of the queue one tenant's calls fill", async () => {
    const sandbox = opened({ threads: 4, callsPerThread: 1, queue: { bytes: 2_000, waitMs: BEYOND_THE_TEST_MS } });
    await sandbox.value(quick);
    const longer = `${quick} // ${"x".repeat(400)}`;
    const loops = Array.from({ length: 60 }, () =>
      sandbox.run(looping, { key: { tenantId: "greedy" }, limits: { wallMs: BEYOND_THE_TEST_MS } }),
    );
    const refused = await Promise.race(loops);
    expect(refused).toMatchObject({ kind: "failed", reason: "overloaded" });
    for (let i = 0; i < 4; i++) expect(await sandbox.value(longer, { key: { tenantId: `modest ${i % 2}` } })).toBe(1);
    await sandbox[Symbol.asyncDispose]();
    await Promise.all(loops);
  });

  test("calls that wait for the host share a thread, so many can wait concurrently", async () => {
    const sandbox = opened({ threads: 2, callsPerThread: 10 });
    let underWay = 0;
    const { promise, resolve } = Promise.withResolvers<number>();
    const bt = () => {
      underWay += 1;
      return promise;
    };
    const calls = Array.from({ length: 10 }, () => sandbox.value(waiting, { hosts: { bt } }));
    await expect.poll(() => underWay).toBe(10);
    resolve(7);
    expect(await Promise.all(calls)).toEqual(Array(10).fill(7));
  });

  test("a call that waits too long is rejected", async () => {
    const sandbox = opened({ threads: 1, callsPerThread: 1, queue: { waitMs: 100 } });
    const { promise, resolve } = Promise.withResolvers<null>();
    const holding = awaitedLater(sandbox.run(waiting, { key: { tenantId: "a" }, hosts: { bt: () => promise } }));
    await expect.poll(() => sandbox.sandbox.metrics.underWay).toBe(1);
    const late = sandbox.run(quick, { key: { tenantId: "late" } });
    expect(await late).toMatchObject({ kind: "failed", reason: "overloaded", retryable: true });
    resolve(null);
    await holding;
  });

  test("further calls queue, and are served in turns", async () => {
    const sandbox = opened({ threads: 1, callsPerThread: 1, queue: { waitMs: BEYOND_THE_TEST_MS, perTenant: 3 } });
    await sandbox.value(quick);
    const order: string[] = [];
    const { promise, resolve } = Promise.withResolvers<null>();
    const holding = awaitedLater(sandbox.run(waiting, { key: { tenantId: "a" }, hosts: { bt: () => promise } }));
    await expect.poll(() => sandbox.sandbox.metrics.underWay).toBe(1);
    const queued = ["c", "c", "c", "c", "d"].map(async (tenantId) => {
      const outcome = await sandbox.run(quick, { key: { tenantId } });
      order.push(`${tenantId} ${outcome.kind}`);
    });
    await expect.poll(() => order).toEqual(["c failed"]);
    resolve(null);
    await Promise.all([holding, ...queued]);
    expect(order.toSorted()).toEqual(["c failed", "c returned", "c returned", "c returned", "d returned"]);
    expect(order.indexOf("d returned")).toBeLessThan(4);
  });

  test("a run that is cancelled while it waits never runs", async () => {
    const sandbox = opened({ threads: 1, callsPerThread: 1 });
    let asked = 0;
    const { promise, resolve } = Promise.withResolvers<null>();
    const bt = () => {
      asked += 1;
      return promise;
    };
    const holding = awaitedLater(sandbox.run(waiting, { hosts: { bt } }));
    await expect.poll(() => asked).toBe(1);
    const controller = new AbortController();
    const cancelled = sandbox.run(waiting, { hosts: { bt }, signal: controller.signal });
    controller.abort(new Error("no longer wanted"));
    await expect(cancelled).rejects.toThrow("no longer wanted");
    resolve(null);
    await holding;
    expect(await sandbox.value(quick)).toBe(1);
    expect(asked).toBe(1);
  });

  test("the number and memory of instances are limited", async () => {
    const sandbox = opened({ threads: 1, instances: { perThread: 2 } });
    const counting = (name: string) =>
      sandbox.value(`let calls = 0; /* ${name} */ module.exports = () => ++calls;`, { key: { functionId: name } });
    expect([
      await counting("a"),
      await counting("b"),
      await counting("a"),
      await counting("c"),
      await counting("b"),
      await counting("a"),
    ]).toEqual([1, 1, 2, 1, 1, 1]);
    const large = "let calls = 0; let kept; module.exports = () => { kept = new Uint8Array(40e6); return ++calls; };";
    expect([await sandbox.value(large), await sandbox.value(large)]).toEqual([1, 1]);
  });

  const counting = "let calls = 0; module.exports = () => ++calls;";

  test("instances end after a number of calls", async () => {
    const sandbox = opened({ threads: 1, instances: { calls: 3 } });
    const four: Json[] = [];
    for (let i = 0; i < 4; i++) four.push(await sandbox.value(counting));
    expect(four).toEqual([1, 2, 3, 1]);
  });

  test("instances end after an idle time", async () => {
    const sandbox = opened({ threads: 1, instances: { idleMs: 100 } });
    expect(await sandbox.value(counting)).toBe(1);
    // Each call is a use: a busy machine gets a longer pause before the next.
    for (let pause = 300; (await sandbox.value(counting)) !== 1; pause *= 2) {
      await new Promise((resolve) => setTimeout(resolve, pause));
    }
  });
});

test("the events are counted", async () => {
  const sandbox = opened({ threads: 2, kill: { pingMs: 50 } });
  await sandbox.value(quick);
  await sandbox.value(quick);
  await sandbox.run(exporting("() => { throw 1; }"));
  await sandbox.run(looping, { limits: { wallMs: 100 } });
  await expect.poll(() => sandbox.sandbox.metrics.runner).toMatchObject({ threads: 2, queued: 0 });
  expect(sandbox.sandbox.metrics).toMatchObject({
    runs: { returned: 2, threw: 1, timeout: 1 },
    coldStarts: 3,
    threadsEnded: 0,
    runnersEnded: 0,
    underWay: 0,
    wait: { count: 4 },
    duration: { count: 4 },
  });
});
