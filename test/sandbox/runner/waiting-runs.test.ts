import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { WaitingRuns } from "../../../src/sandbox/runner/waiting-runs.js";

const limits = { total: 10, perTenant: 4, bytes: 100, waitMs: 1_000 };
const run = (tenant: string, name: string, bytes = 1) => ({ tenant, name, bytes });
const drained = (queue: WaitingRuns<ReturnType<typeof run>>, most = Number.POSITIVE_INFINITY) => {
  const names: string[] = [];
  queue.drain((waiting) => names.length < most && names.push(waiting.name) > 0);
  return names;
};

describe("queued runs", () => {
  test("are taken in turns among tenants, and in order within each", () => {
    const queue = new WaitingRuns<ReturnType<typeof run>>(limits);
    for (const waiting of [
      run("a", "a1"),
      run("a", "a2"),
      run("a", "a3"),
      run("b", "b1"),
      run("c", "c1"),
      run("c", "c2"),
    ])
      queue.add(waiting);
    expect(drained(queue)).toEqual(["a1", "b1", "c1", "a2", "c2", "a3"]);
    expect(queue.size).toBe(0);
  });

  test("keep their turn if there was room for some only", () => {
    const queue = new WaitingRuns<ReturnType<typeof run>>(limits);
    for (const waiting of [run("a", "a1"), run("a", "a2"), run("b", "b1")]) queue.add(waiting);
    expect(drained(queue, 1)).toEqual(["a1"]);
    expect(drained(queue)).toEqual(["b1", "a2"]);
  });

  test("do not hold up other tenants' if theirs cannot be taken", () => {
    const queue = new WaitingRuns<ReturnType<typeof run>>(limits);
    for (const waiting of [run("a", "a1"), run("b", "b1"), run("b", "b2")]) queue.add(waiting);
    const taken: string[] = [];
    queue.drain(({ tenant, name }) => tenant === "b" && taken.push(name) > 0);
    expect(taken).toEqual(["b1", "b2"]);
    expect(queue.size).toBe(1);
  });

  test.each([
    ["of one tenant", ["a", "a", "a", "a", "a"], 1, 4],
    ["in all", Array.from({ length: 12 }, (_, index) => `tenant ${index}`), 1, 10],
    ["by their bytes", ["a", "b", "c"], 40, 2],
  ])("are limited: %s", (_name, tenants, bytes, accepted) => {
    const queue = new WaitingRuns<ReturnType<typeof run>>(limits);
    expect(tenants.filter((tenant) => queue.add(run(tenant, "x", bytes)))).toHaveLength(accepted);
  });

  test("leave as many bytes to others as their tenant holds", () => {
    const queue = new WaitingRuns<ReturnType<typeof run>>(limits);
    expect([30, 25, 20].map((bytes) => queue.add(run("a", "x", bytes)))).toEqual([true, false, true]);
    expect([40, 5, 5].map((bytes) => queue.add(run("b", "x", bytes)))).toEqual([true, false, false]);
    expect(queue.add(run("c", "x", 10))).toBe(true);
  });

  test("leave room for another tenant, whatever one queues and withdraws", () => {
    const bytes = fc.integer({ min: 1, max: 50 });
    const moves = fc.array(fc.record({ bytes, withdraws: fc.boolean() }), { maxLength: 40 });
    fc.assert(
      fc.property(moves, bytes, (greedy, newcomer) => {
        const queue = new WaitingRuns<ReturnType<typeof run>>({ ...limits, total: 100, perTenant: 100 });
        const queued: ReturnType<typeof run>[] = [];
        for (const move of greedy) {
          const waiting = run("greedy", "x", move.bytes);
          if (queue.add(waiting)) queued.push(waiting);
          const first = move.withdraws ? queued.shift() : undefined;
          if (first) expect(queue.remove(first)).toBe(true);
        }
        expect(queue.add(run("newcomer", "y", newcomer))).toBe(true);
      }),
    );
  });

  test("can be removed once while they wait", () => {
    const queue = new WaitingRuns<ReturnType<typeof run>>(limits);
    const waiting = run("a", "a1", 90);
    queue.add(waiting);
    expect([queue.remove(waiting), queue.remove(waiting), queue.size]).toEqual([true, false, 0]);
    expect(queue.add(run("a", "a2", 90))).toBe(true);
  });

  test("are all taken in the end, each once", () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom("a", "b", "c"), { maxLength: 10 }), (tenants) => {
        const queue = new WaitingRuns<ReturnType<typeof run>>({ ...limits, perTenant: 10 });
        const names = tenants.map((tenant, index) => `${tenant}${index}`);
        for (const [index, tenant] of tenants.entries()) queue.add(run(tenant, names[index] ?? ""));
        expect(drained(queue).toSorted()).toEqual(names.toSorted());
      }),
    );
  });
});
