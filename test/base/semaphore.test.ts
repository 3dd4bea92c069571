import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Semaphore } from "../../src/base/semaphore.js";

describe("a semaphore", () => {
  it("runs as many at once as it has permits, in the order in which they came, whatever their ends", async () => {
    const work = fc.array(fc.record({ turns: fc.integer({ min: 1, max: 4 }), fails: fc.boolean() }), { maxLength: 20 });
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 4 }), work, async (permits, jobs) => {
        const semaphore = new Semaphore(permits, 100);
        const started: number[] = [];
        let running = 0;
        let most = 0;
        const run = (index: number, turns: number, fails: boolean) =>
          semaphore.run(async () => {
            started.push(index);
            running += 1;
            most = Math.max(most, running);
            for (let turn = 0; turn < turns; turn += 1) await Promise.resolve();
            running -= 1;
            if (fails) throw new Error("failed");
            return index;
          });
        const ends = await Promise.allSettled(jobs.map(({ turns, fails }, index) => run(index, turns, fails)));
        expect(started).toEqual(jobs.map((_, index) => index));
        expect(most).toBe(Math.min(permits, jobs.length));
        expect(ends.map(({ status }) => status === "rejected")).toEqual(jobs.map(({ fails }) => fails));
        // All permits are back.
        await Promise.all(Array.from({ length: permits }, () => run(-1, 0, false)));
      }),
    );
  });

  it("is full once so many wait, and no longer when one of them runs", async () => {
    const semaphore = new Semaphore(1, 2);
    const { promise, resolve } = Promise.withResolvers<void>();
    const first = semaphore.run(() => promise);
    const second = semaphore.run(async () => semaphore.isFull);
    expect(semaphore.isFull).toBe(false);
    const third = semaphore.run(async () => semaphore.isFull);
    expect(semaphore.isFull).toBe(true);
    resolve();
    await first;
    expect(await second).toBe(false);
    expect(await third).toBe(false);
  });
});
