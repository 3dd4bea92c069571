import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { FairQueue } from "../../src/base/fair-queue.js";

const CREDIT = 2;
const LARGEST_COST = 10;
const FLOWS = ["a", "b", "c", "d", "e"];

interface Arrival {
  /** Items that are taken before this one arrives. */
  readonly after: number;
  readonly flow: string;
  readonly cost: number;
  readonly order: number;
}

const arrivals = fc.array(
  fc.record({
    after: fc.nat({ max: 60 }),
    flow: fc.constantFrom(...FLOWS),
    cost: fc.integer({ min: 1, max: LARGEST_COST }),
    order: fc.constantFrom(1, 2, Number.POSITIVE_INFINITY),
  }),
  { maxLength: 80 },
);

/** Serves all arrivals, and calls `onServed` with the flow and cost of each and the flows that waited meanwhile. */
function serveAll(all: readonly Arrival[], onServed: (served: Arrival, waiting: ReadonlySet<string>) => void): void {
  const queue = new FairQueue<Arrival>(CREDIT);
  const left = all.toSorted((one, other) => one.after - other.after);
  for (let taken = 0; ; taken += 1) {
    while (left[0] && left[0].after <= taken) {
      const arrived = left.shift();
      if (arrived) queue.push(arrived.flow, arrived, arrived.order);
    }
    const waiting = new Set(FLOWS.filter((flow) => queue.waitingOf(flow) > 0));
    const size = queue.size;
    const next = queue.take();
    // Not expect(), which takes longer than the queue: this runs half a million times.
    if ((next !== undefined) !== size > 0) throw new Error(`it has ${size} items, and gives ${next?.item.flow}`);
    if (next) {
      if (next.item.flow !== next.flow) throw new Error(`an item of ${next.item.flow} counts for ${next.flow}`);
      queue.charge(next.flow, next.item.cost);
      onServed(next.item, waiting);
    } else if (left.length === 0) return;
  }
}

describe("a fair queue, whatever arrives when and whatever it costs", () => {
  it("serves each item once, and those of one flow in order", () => {
    fc.assert(
      fc.property(arrivals, (all) => {
        const served: Arrival[] = [];
        serveAll(all, (item) => served.push(item));
        expect(new Set(served)).toEqual(new Set(all));
        expect(served).toHaveLength(all.length);
        const inOrder = all.toSorted((one, other) => one.after - other.after);
        for (const flow of FLOWS) {
          for (const order of [1, 2, Number.POSITIVE_INFINITY]) {
            const of = (items: readonly Arrival[]) =>
              items.filter((item) => item.flow === flow && item.order === order);
            expect(of(served)).toEqual(of(inOrder));
          }
        }
      }),
      { numRuns: 500 },
    );
  });

  it("never serves one flow more than another that waits, but for the credit of both and an item", () => {
    fc.assert(
      fc.property(arrivals, (all) => {
        const ahead = new Map<string, number>();
        let farthest = 0;
        serveAll(all, ({ flow: served, cost }, waiting) => {
          for (const other of FLOWS) {
            if (other === served) {
              // What it gets itself, all others are behind.
              for (const flow of FLOWS) {
                const pair = `${other} waits for ${flow}`;
                ahead.set(pair, Math.max(0, (ahead.get(pair) ?? 0) - cost));
              }
            } else {
              const pair = `${other} waits for ${served}`;
              const sum = waiting.has(other) ? (ahead.get(pair) ?? 0) + cost : 0;
              farthest = Math.max(farthest, sum);
              ahead.set(pair, sum);
            }
          }
        });
        expect(farthest).toBeLessThanOrEqual(2 * (CREDIT + LARGEST_COST));
      }),
      { numRuns: 5_000 },
    );
  });

  it("serves a flow that has used little next, at each of its steps, whatever the others have and cost", () => {
    const credit = 10 * LARGEST_COST;
    // The costs of each busy flow, again and again.
    const busy = fc.array(fc.array(fc.integer({ min: 1, max: LARGEST_COST }), { minLength: 1, maxLength: 5 }), {
      minLength: 1,
      maxLength: 6,
    });
    const step = fc.record({ after: fc.nat({ max: 60 }), cost: fc.integer({ min: 1, max: LARGEST_COST }) });
    fc.assert(
      fc.property(busy, fc.array(step, { maxLength: 30 }), (costs, steps) => {
        const queue = new FairQueue<number>(credit);
        const used = costs.map(() => 0);
        const push = (flow: number) => queue.push(`${flow}`, flow);
        for (const flow of costs.keys()) push(flow);
        let served = 0;
        const serveBusy = () => {
          const flow = queue.take()?.item ?? -1;
          const cost = costs[flow]?.[served % costs[flow].length] ?? 1;
          served += 1;
          used[flow] = (used[flow] ?? 0) + cost;
          queue.charge(`${flow}`, cost);
          push(flow);
        };
        while (Math.min(...used) <= credit) serveBusy();
        // What it has used above its share of what the others have got since.
        let ahead = 0;
        for (const { after, cost } of steps) {
          const before = Math.min(...used);
          for (let n = 0; n < after; n += 1) serveBusy();
          ahead = Math.max(0, ahead - (Math.min(...used) - before));
          if (ahead + cost > credit / 2) continue;
          queue.push("quiet", -1);
          expect(queue.take()?.flow).toBe("quiet");
          queue.charge("quiet", cost);
          ahead += cost;
        }
      }),
      { numRuns: 1_000 },
    );
  });

  it("lets a flow that was idle be ahead by its credit, and no more", () => {
    const queue = new FairQueue<string>(CREDIT);
    for (let n = 0; n < 100; n += 1) queue.push("busy", `busy ${n}`);
    const serve = () => {
      const next = queue.take();
      if (next) queue.charge(next.flow, 1);
      return next?.flow;
    };
    for (let n = 0; n < 10; n += 1) serve();
    for (let n = 0; n < 100; n += 1) queue.push("idle before", `${n}`);
    const served = Array.from({ length: 40 }, serve);
    expect(served.slice(0, CREDIT)).toEqual(["idle before", "idle before"]);
    const ahead = served.filter((flow) => flow === "idle before").length - 20;
    expect(Math.abs(ahead)).toBeLessThanOrEqual(CREDIT);
  });

  it("remembers a bounded number of flows, however many addresses there are", () => {
    const queue = new FairQueue<number>(CREDIT);
    for (let n = 0; n < 50_000; n += 1) {
      queue.push(`${n}`, n);
      queue.take();
      queue.charge(`${n}`, 0.1);
    }
    expect(queue.known).toBeLessThanOrEqual(1_002);
  });
});
