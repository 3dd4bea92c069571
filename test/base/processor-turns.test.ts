import fc from "fast-check";
import { beforeEach, describe, expect, it } from "vitest";
import { CallerTurns, inTurns, presentCaller, runFor, type Steps } from "../../src/base/caller-turns.js";
import { type Flow, LOOK_MS, type Loop, ProcessorTurns, TURN_MS } from "../../src/base/processor-turns.js";

/** An event loop whose time passes only through {@link work}. */
class FakeLoop implements Loop {
  #now = 0;
  #steps: (() => void)[] = [];

  now(): number {
    return this.#now;
  }

  soon(step: () => void): void {
    this.#steps.push(step);
  }

  work(milliseconds: number): void {
    this.#now += milliseconds;
  }

  /** Looks at the sockets, and runs the steps given so far. */
  async turn(): Promise<void> {
    const steps = this.#steps;
    this.#steps = [];
    for (const step of steps) {
      step();
      await Promise.resolve();
    }
  }

  get isIdle(): boolean {
    return this.#steps.length === 0;
  }
}

const tenant = (name: string): Flow => ({ kind: "tenant", name });
const network = (name: string): Flow => ({ kind: "network", name });

let loop: FakeLoop;
let turns: ProcessorTurns;
let done: string[];
beforeEach(() => {
  loop = new FakeLoop();
  turns = new ProcessorTurns(loop);
  done = [];
});

const wait = (flow: Flow, name: string, cost: number) =>
  turns.begin(flow, () => {
    done.push(name);
    loop.work(cost);
  });

describe("turns of the main thread", () => {
  it("delay no caller while there is room", async () => {
    for (const name of ["a", "a", "b", "c"]) {
      expect(turns.hasRoom(() => tenant(name))).toBe(true);
      loop.work(LOOK_MS / 10);
    }
    await loop.turn();
    loop.work(100);
    expect(turns.hasRoom(() => tenant("a"))).toBe(true);
    expect(turns.waiting).toBe(0);
  });

  it("are waited for once the thread has worked without a look at its sockets", async () => {
    expect(turns.hasRoom(() => tenant("a"))).toBe(true);
    loop.work(LOOK_MS);
    expect(turns.hasRoom(() => tenant("b"))).toBe(false);
    wait(tenant("b"), "b", 1);
    await loop.turn();
    expect(done).toEqual(["b"]);
  });

  it("come first to a caller that was idle, whatever the backlog of another", async () => {
    for (let n = 0; n < 500; n += 1) wait(tenant("busy"), `busy ${n}`, 0.5);
    await loop.turn();
    const before = done.length;
    wait(tenant("quiet"), "quiet", 0.5);
    await loop.turn();
    expect(done[before]).toBe("quiet");
    expect(before).toBeLessThan(20);
  });

  it("go to all networks together as to one tenant, however many they are", async () => {
    for (let n = 0; n < 200; n += 1) {
      for (let from = 0; from < 5; from += 1) wait(network(`192.0.2.${n}`), "unproved", 0.5);
      for (let from = 0; from < 5; from += 1) wait(tenant("known"), "known", 0.5);
    }
    for (let looked = 0; looked < 200; looked += 1) await loop.turn();
    const known = done.filter((name) => name === "known").length;
    expect(Math.abs(known - (done.length - known))).toBeLessThanOrEqual(10);
  });

  it("come next to a caller that has used little, at each of its steps: it waits for one running turn", async () => {
    const costs = fc.array(fc.integer({ min: 1, max: 200 }), { minLength: 1, maxLength: 5 });
    const step = fc.record({ looks: fc.integer({ min: 1, max: 20 }), cost: fc.nat({ max: 5 }) });
    await fc.assert(
      fc.asyncProperty(costs, fc.array(step, { minLength: 1, maxLength: 8 }), async (busy, steps) => {
        loop = new FakeLoop();
        turns = new ProcessorTurns(loop);
        done = [];
        const used = busy.map(() => 0);
        // In tenths of a millisecond, again and again.
        const work = (flow: number, cost: number) =>
          turns.goOn(
            tenant(`busy ${flow}`),
            () => {
              done.push("busy");
              loop.work(cost / 10);
              used[flow] = (used[flow] ?? 0) + cost / 10;
              work(flow, cost);
            },
            1,
          );
        for (const [flow, cost] of busy.entries()) work(flow, cost);
        while (Math.min(...used) <= 10) await loop.turn();
        for (const { looks, cost } of steps) {
          for (let looked = 0; looked < looks; looked += 1) await loop.turn();
          const before = done.length;
          wait(tenant("quiet"), "quiet", cost / 10);
          await loop.turn();
          expect(done[before]).toBe("quiet");
        }
      }),
      { numRuns: 300 },
    );
  });

  it("end with what their caller asks of the database, before others have theirs", async () => {
    for (let n = 0; n < 4; n += 1) wait(tenant("busy"), "busy", 0.1);
    turns.begin(tenant("quiet"), () => {
      done.push("quiet");
      turns.afterwards(() => done.push("asks"));
    });
    await loop.turn();
    expect(done.slice(done.indexOf("quiet"), done.indexOf("quiet") + 2)).toEqual(["quiet", "asks"]);
  });

  it("are shared among the networks", async () => {
    for (let n = 0; n < 500; n += 1) wait(network("192.0.2.1"), "flood", 0.5);
    await loop.turn();
    wait(network("192.0.2.2"), "one", 0.5);
    const before = done.length;
    while (!done.includes("one")) await loop.turn();
    expect(done.length - before).toBeLessThanOrEqual(10);
  });

  it("go on with what a caller has begun, the oldest first, before it begins more", async () => {
    wait(tenant("a"), "begun", TURN_MS);
    wait(tenant("a"), "next", TURN_MS);
    turns.goOn(tenant("a"), () => done.push("the second goes on"), 2);
    turns.goOn(tenant("a"), () => done.push("the first goes on"), 1);
    await loop.turn();
    await loop.turn();
    expect(done.slice(0, 3)).toEqual(["the first goes on", "the second goes on", "begun"]);
  });

  it("run everything that waits exactly once", async () => {
    const work = fc.record({ flow: fc.nat({ max: 6 }), cost: fc.nat({ max: 30 }), looksAfter: fc.boolean() });
    await fc.assert(
      fc.asyncProperty(fc.array(work, { maxLength: 60 }), async (all) => {
        loop = new FakeLoop();
        turns = new ProcessorTurns(loop);
        done = [];
        for (const [n, { flow, cost, looksAfter }] of all.entries()) {
          wait(flow < 3 ? tenant(`${flow}`) : network(`${flow}`), `${n}`, cost / 3);
          if (looksAfter) await loop.turn();
        }
        while (!loop.isIdle) await loop.turn();
        expect(done.toSorted()).toEqual(all.map((_, n) => `${n}`).toSorted());
        expect(turns.waiting).toBe(0);
      }),
      { numRuns: 300 },
    );
  });
});

describe("long work in steps", () => {
  function* steps(name: string, count: number): Steps<string> {
    for (let n = 0; n < count; n += 1) {
      yield;
      done.push(name);
      loop.work(1);
    }
    return name;
  }

  it("lets others have their turns between two steps", async () => {
    const results = ["a", "b"].map((name) =>
      runFor(new CallerTurns(() => tenant(name), turns), async () => {
        await presentCaller()?.next();
        return inTurns(steps(name, 10));
      }),
    );
    const both = Promise.all(results);
    for (let looked = 0; looked < 40; looked += 1) {
      await loop.turn();
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(await both).toEqual(["a", "b"]);
    // Neither is more than two turns ahead of the other.
    for (let n = 1; n <= done.length; n += 1) {
      const ahead = done.slice(0, n).reduce((sum, name) => sum + (name === "a" ? 1 : -1), 0);
      expect(Math.abs(ahead)).toBeLessThanOrEqual(2 * TURN_MS + 1);
    }
  });
});
