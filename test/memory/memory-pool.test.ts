import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { type Holder, MAX_WAIT_MS, MemoryPool } from "../../src/memory/memory-pool.js";

const holder = (name: string, share = 1, mayStart = false): Holder => ({ name, share, mayStart });

describe("shared memory", () => {
  it("gives a single holder half of it, and two a third each", () => {
    const pool = new MemoryPool(600);
    expect(pool.tryReserve([holder("a")], 300)).toBe(true);
    expect(pool.tryReserve([holder("a")], 1)).toBe(false);
    pool.release([holder("a")], 100);
    expect(pool.tryReserve([holder("b")], 200)).toBe(true);
    expect(pool.tryReserve([holder("b")], 1)).toBe(false);
    expect(pool.left).toBe(200);
  });

  it("limits every holder that shares a reservation to its own share", () => {
    const pool = new MemoryPool(600);
    const key = (name: string) => [holder("tenant"), holder(name, 1 / 2)];
    expect(pool.tryReserve(key("one"), 200)).toBe(true);
    expect(pool.tryReserve(key("one"), 1)).toBe(false);
    expect(pool.tryReserve(key("two"), 100)).toBe(true);
    expect(pool.tryReserve(key("two"), 1)).toBe(false);
  });

  it("gives a holder of nothing one reservation if possible, but no memory that does not exist", () => {
    const pool = new MemoryPool(100);
    expect(pool.tryReserve([holder("a", 0, true)], 90)).toBe(true);
    expect(pool.tryReserve([holder("a", 0, true)], 1)).toBe(false);
    expect(pool.tryReserve([holder("b", 0, true)], 11)).toBe(false);
    expect(pool.tryReserve([holder("b", 0, true)], 10)).toBe(true);
  });

  it("is complete again when everything is released, and always has some left for a newcomer", () => {
    const reservation = fc.record({ who: fc.nat(20), bytes: fc.integer({ min: 1, max: 500 }), ends: fc.boolean() });
    fc.assert(
      fc.property(fc.array(reservation, { maxLength: 200 }), (reservations) => {
        const pool = new MemoryPool(1_000);
        const held: [readonly Holder[], number][] = [];
        for (const { who, bytes, ends } of reservations) {
          const holders = [holder(`tenant ${who % 3}`), holder(`key ${who}`, 1 / 2)];
          if (pool.tryReserve(holders, bytes)) held.push([holders, bytes]);
          const [first] = held;
          if (ends && first) pool.release(...first);
          if (ends) held.shift();
          expect(pool.left).toBeGreaterThan(1_000 / 5);
        }
        for (const one of held) pool.release(...one);
        expect(pool.left).toBe(1_000);
      }),
    );
  });

  it("move() charges a reservation to the identified holder", () => {
    const pool = new MemoryPool(600);
    expect(pool.tryReserve([holder("unknown")], 300)).toBe(true);
    pool.move([holder("unknown")], [holder("a")], 300);
    expect(pool.tryReserve([holder("a")], 1)).toBe(false);
    expect(pool.tryReserve([holder("unknown")], 100)).toBe(true);
    expect(pool.left).toBe(200);
  });
});

describe("a reservation that is not granted at once", () => {
  beforeEach(() => vi.useFakeTimers());
  afterEach(() => vi.useRealTimers());

  const waitFor = (pool: MemoryPool, name: string, bytes: number) => {
    const reservation = pool.reserve([holder(name)], bytes);
    if (reservation === true) throw new Error("it was granted at once");
    const told: boolean[] = [];
    void reservation.granted.then((isGranted) => told.push(isGranted));
    return { told, cancel: reservation.cancel };
  };
  const settle = () => vi.advanceTimersByTimeAsync(0);

  it("is granted when there is memory, in order of arrival within a queue", async () => {
    const pool = new MemoryPool(600);
    expect(pool.reserve([holder("a")], 300)).toBe(true);
    const [first, second] = [waitFor(pool, "a", 200), waitFor(pool, "a", 1)];
    pool.release([holder("a")], 50);
    await settle();
    expect([first.told, second.told]).toEqual([[], []]);
    pool.release([holder("a")], 150);
    await settle();
    expect([first.told, second.told]).toEqual([[true], []]);
    pool.release([holder("a")], 300);
    await settle();
    expect(second.told).toEqual([true]);
    expect(pool.waiting).toBe(0);
    expect(pool.left).toBe(599);
  });

  it("waits in its holder's own queue: queues take turns", async () => {
    const pool = new MemoryPool(600);
    expect(pool.tryReserve([], 600)).toBe(true);
    const a = [1, 2, 3].map(() => waitFor(pool, "a", 100));
    const b = waitFor(pool, "b", 100);
    pool.release([], 200);
    await settle();
    expect([a.map(({ told }) => told), b.told]).toEqual([[[true], [], []], []]);
    pool.release([], 150);
    await settle();
    expect(b.told).toEqual([true]);
  });

  it("is rejected after a while, when it is cancelled, and if too many wait; the others continue", async () => {
    const pool = new MemoryPool(600);
    expect(pool.tryReserve([], 600)).toBe(true);
    const late = waitFor(pool, "a", 100);
    await vi.advanceTimersByTimeAsync(MAX_WAIT_MS - 1);
    const cancelled = waitFor(pool, "a", 100);
    cancelled.cancel();
    const next = waitFor(pool, "a", 100);
    await vi.advanceTimersByTimeAsync(1);
    expect([late.told, cancelled.told, next.told]).toEqual([[false], [false], []]);
    pool.release([], 600);
    await settle();
    expect(next.told).toEqual([true]);
    expect(pool.left).toBe(500);
  });

  it("does not wait if 128 of its holder do, nor if 512 of all do", async () => {
    const pool = new MemoryPool(600);
    expect(pool.tryReserve([], 600)).toBe(true);
    const told: boolean[][] = [];
    for (let index = 0; index < 5; index += 1) {
      for (let each = 0; each < 129; each += 1) told.push(waitFor(pool, `holder ${index}`, 1).told);
    }
    await settle();
    expect(pool.waiting).toBe(512);
    expect(told.filter(([isGranted]) => isGranted === false)).toHaveLength(5 * 129 - 512);
  });
});
