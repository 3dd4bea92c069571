import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { chooseIdleThread, chooseThread, type ThreadState } from "../../../src/sandbox/runner/placement.js";

interface TestThread extends ThreadState {
  readonly name: string;
}

const thread = (
  name: string,
  state: Partial<{ tenant: string; calls: number; isExclusive: boolean; isReady: boolean; keys: string[] }> = {},
): TestThread => ({
  name,
  tenant: state.tenant,
  calls: state.calls ?? (state.tenant === undefined ? 0 : 1),
  isExclusive: state.isExclusive ?? false,
  isReady: state.isReady ?? true,
  knows: (key) => state.keys?.includes(key) ?? false,
});
/** A thread that counts what is placed in it. */
class CountedThread implements ThreadState {
  tenant: string | undefined;
  calls = 0;
  readonly isExclusive = false;
  readonly isReady = true;

  knows(): boolean {
    return false;
  }
}

const chosen = (threads: readonly TestThread[], tenant = "a", key = "k") => chooseThread(threads, tenant, key, 4)?.name;

describe("a run goes", () => {
  test.each([
    ["to a free thread that knows its instance", [thread("1"), thread("2", { keys: ["k"] })], "2"],
    [
      "rather to one that has started than to one that knows it",
      [thread("1", { isReady: false, keys: ["k"] }), thread("2")],
      "2",
    ],
    ["to a starting one, if no other is free", [thread("1", { tenant: "b" }), thread("2", { isReady: false })], "2"],
    [
      "rather to a free one than to its tenant's own",
      [thread("1", { tenant: "a", keys: ["k"] }), thread("2"), thread("3")],
      "2",
    ],
    ["to its tenant's own, if no more are free than it holds", [thread("1", { tenant: "a" }), thread("2")], "1"],
    [
      "to the least busy of them",
      [thread("1", { tenant: "a", calls: 3 }), thread("2", { tenant: "a", calls: 2 })],
      "2",
    ],
    ["to the queue, where its own are full", [thread("1", { tenant: "a", calls: 4 }), thread("2")], undefined],
    ["to the queue, where all are another's", [thread("1", { tenant: "b" }), thread("2", { tenant: "c" })], undefined],
    [
      "to the last free one, if it holds none",
      [thread("1", { tenant: "b" }), thread("2", { tenant: "c" }), thread("3")],
      "3",
    ],
  ])("%s", (_name, threads, expected) => {
    expect(chosen(threads)).toBe(expected);
  });
});

describe("a run never joins a compilation", () => {
  test("for its own tenant", () => {
    expect(chosen([thread("1", { tenant: "a", isExclusive: true })])).toBeUndefined();
    expect(chosen([thread("1", { tenant: "a", isExclusive: true }), thread("2", { tenant: "a" })])).toBe("2");
  });
});

describe("a compilation goes", () => {
  const chosenAlone = (threads: readonly TestThread[]) => chooseIdleThread(threads, "a")?.name;

  test.each([
    ["to a free thread that has started", [thread("1", { isReady: false }), thread("2")], "2"],
    ["to a free thread, however many its tenant holds", [thread("1", { tenant: "a" }), thread("2")], "2"],
    ["to the queue, if no thread is free", [thread("1", { tenant: "a" }), thread("2", { tenant: "b" })], undefined],
    [
      "to the queue, while another of its tenant is compiled",
      [thread("1", { tenant: "a", isExclusive: true }), thread("2")],
      undefined,
    ],
    ["next to that of another tenant", [thread("1", { tenant: "b", isExclusive: true }), thread("2")], "2"],
  ])("%s", (_name, threads, expected) => {
    expect(chosenAlone(threads)).toBe(expected);
  });
});

describe("whatever the tenants do,", () => {
  const arrivals = fc.array(fc.constantFrom("a", "b", "c", "d", "e"), { maxLength: 60 });

  test("no thread serves two of them concurrently, and none gets more than half when it came first", () => {
    fc.assert(
      fc.property(arrivals, fc.integer({ min: 2, max: 16 }), (tenants, size) => {
        const threads = Array.from({ length: size }, () => new CountedThread());
        for (const tenant of tenants) {
          const target = chooseThread(threads, tenant, "", 4);
          if (target === undefined) continue;
          expect(target.calls === 0 || target.tenant === tenant).toBe(true);
          expect(target.calls).toBeLessThan(4);
          target.tenant = tenant;
          target.calls += 1;
        }
        const [first] = tenants;
        const held = threads.filter(({ tenant, calls }) => calls > 0 && tenant === first).length;
        expect(held).toBeLessThanOrEqual(Math.ceil(size / 2));
      }),
    );
  });

  test("a tenant that arrives while a single other is busy always finds a thread", () => {
    for (let size = 2; size <= 16; size++) {
      const threads = Array.from({ length: size }, () => new CountedThread());
      for (let call = 0; call < 200; call++) {
        const target = chooseThread(threads, "busy", "", 4);
        if (target) Object.assign(target, { tenant: "busy", calls: target.calls + 1 });
      }
      expect(chooseThread(threads, "other", "", 4)?.calls).toBe(0);
    }
  });
});
