import { describe, expect, test } from "vitest";
import type { EngineResult, Instance } from "../../../src/sandbox/engine/engine.js";
import { WarmInstances } from "../../../src/sandbox/worker/warm-instances.js";

const MB = 1024 * 1024;
const limits = { perThread: 3, memoryBytes: 20 * MB, largeBytes: 8 * MB, calls: 5, idleMs: 1_000 };

/** The parts that the cache reads: its size, whether it can continue, whether it was dropped. */
class CountedInstance implements Instance {
  isUsable = true;
  isDisposed = false;
  readonly memoryBytes: number;

  constructor(memoryBytes = 3 * MB) {
    this.memoryBytes = memoryBytes;
  }

  call(): Promise<EngineResult> {
    throw new Error("nothing calls it here");
  }

  dispose(): void {
    this.isDisposed = true;
  }
}

const leased = (instance = new CountedInstance(), calls = 0) => ({ instance, calls });

let now = 0;
const opened = () => new WarmInstances(limits, () => now);

describe("idle instances", () => {
  test("serve runs of their own key only, the last used first", () => {
    const warm = opened();
    const [one, two] = [leased(), leased()];
    warm.give("k", one);
    warm.give("k", two);
    expect(warm.take("other")).toBeUndefined();
    expect(warm.take("k")?.instance).toBe(two.instance);
    expect(warm.take("k")).toEqual({ instance: one.instance, calls: 1 });
    expect(warm.take("k")).toBeUndefined();
  });

  test.each([
    ["too many calls", leased(new CountedInstance(), 4)],
    ["too much memory", leased(new CountedInstance(9 * MB))],
    ["a failure", leased(Object.assign(new CountedInstance(), { isUsable: false }))],
  ])("are dropped after %s", (_name, one) => {
    const warm = opened();
    warm.give("k", one);
    expect([warm.take("k"), one.instance.isDisposed]).toEqual([undefined, true]);
  });

  test.each([
    ["by number", 1, ["a", "b", "c", "d"], ["a"]],
    ["by memory", 7, ["a", "b", "c"], ["a"]],
  ])("are evicted, the least recently used first: %s", (_name, megabytes, keys, dropped) => {
    const warm = opened();
    const all = keys.map((key) => ({ key, ...leased(new CountedInstance(megabytes * MB)) }));
    for (const { key, instance, calls } of all) warm.give(key, { instance, calls });
    expect(all.filter(({ instance }) => instance.isDisposed).map(({ key }) => key)).toEqual(dropped);
    expect(warm.size).toBe(keys.length - dropped.length);
  });

  test("are dropped after an idle time", () => {
    const warm = opened();
    const [old, young] = [leased(), leased()];
    warm.give("old", old);
    now += 600;
    warm.give("young", young);
    now += 600;
    warm.sweep();
    expect([old.instance.isDisposed, young.instance.isDisposed, warm.size]).toEqual([true, false, 1]);
  });
});
