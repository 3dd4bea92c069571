import { PassThrough } from "node:stream";
import { setImmediate as turn } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { newTenantId } from "../../src/base/ids.js";
import { BodyTooLarge, IncompleteBody } from "../../src/memory/body-errors.js";
import { collectBody } from "../../src/memory/collect-body.js";
import { MemoryBudget } from "../../src/memory/memory-budget.js";
import { endOnAbort } from "../../src/memory/reading-end.js";
import type { Proof } from "../../src/memory/request-memory.js";
import type { ReservedMemory } from "../../src/memory/reserved-memory.js";
import { keyProof } from "../support/memory.js";

const MB = 1024 * 1024;
const KEY = keyProof(newTenantId());
const ADDRESS: Proof = { kind: "address", tenantId: KEY.tenantId, name: "webhook" };

let budget: MemoryBudget;
let free: number;
const reserved = () => (free - budget.small.left - budget.large.left) / 8;
beforeEach(() => {
  budget = new MemoryBudget(5 * MB);
  free = budget.small.left + budget.large.left;
});

function memoryOf(proof: Proof | undefined): ReservedMemory {
  const memory = budget.open(() => "10.0.0.1");
  if (proof) memory.prove(proof);
  return memory;
}

const collect = (body: PassThrough, proof: Proof | undefined = KEY, announced?: number) =>
  collectBody(body, memoryOf(proof), { maxBytes: 5 * MB, announced });

describe("the memory of a body", () => {
  it("is reserved before it is read if its length is announced", async () => {
    const body = new PassThrough();
    const whole = collect(body, KEY, 3 * MB);
    await turn();
    expect(reserved()).toBe(3 * MB);
    body.end(Buffer.alloc(3 * MB, 1));
    expect((await whole).equals(Buffer.alloc(3 * MB, 1))).toBe(true);
  });

  it("is that of its bytes if it has arrived, and it is taken from the stream at once", async () => {
    const body = new PassThrough();
    body.write(Buffer.alloc(300));
    body.end(Buffer.alloc(200));
    const limits = { maxBytes: 5 * MB, announced: 500, hasArrived: true };
    expect(await collectBody(body, memoryOf(KEY), limits)).toHaveLength(500);
    expect(reserved()).toBe(500);
  });

  it("grows in steps otherwise: tiny, small, the largest", async () => {
    const body = new PassThrough();
    const whole = collect(body);
    const steps: number[] = [];
    for (const size of [0, 1_000, 10_000, 80_000]) {
      body.write(Buffer.alloc(size));
      await turn();
      await turn();
      steps.push(reserved());
    }
    expect(steps).toEqual([4_096, 4_096, 4_096 + 65_536, 4_096 + 65_536 + 5 * MB]);
    body.end();
    expect(await whole).toHaveLength(91_000);
    expect(reserved()).toBe(91_000);
  });

  it("is waited for: nothing is read meanwhile, and all of it afterwards", async () => {
    const others = [KEY, KEY].map(memoryOf);
    for (const memory of others) memory.reserveNow(5 * MB);
    const body = new PassThrough();
    const whole = collect(body, KEY, 5 * MB);
    body.write(Buffer.alloc(10_000));
    await turn();
    expect(body.readableLength).toBe(10_000);
    others[0]?.close();
    body.end();
    expect(await whole).toHaveLength(10_000);
  });

  it("is small for unauthenticated callers", async () => {
    await expect(
      collectBody(new PassThrough(), memoryOf(undefined), { maxBytes: MB, announced: 70_000 }),
    ).rejects.toEqual(new BodyTooLarge(64 * 1024));
    const body = new PassThrough();
    const reading = collectBody(body, memoryOf(undefined), { maxBytes: MB, announced: undefined });
    body.write(Buffer.alloc(70_000));
    await expect(reading).rejects.toBeInstanceOf(BodyTooLarge);
  });
});

describe("a body that is rejected", () => {
  it("is rejected before it is read if it announces too much, or as soon as it has too much", async () => {
    const body = new PassThrough();
    await expect(collect(body, KEY, 6 * MB)).rejects.toBeInstanceOf(BodyTooLarge);
    const reading = collect(body);
    body.write(Buffer.alloc(5 * MB + 1));
    await expect(reading).rejects.toBeInstanceOf(BodyTooLarge);
    expect(body.destroyed).toBe(false);
  });

  it("is incomplete if its sender disconnects, also while it waits", async () => {
    const body = new PassThrough();
    const reading = collect(body, KEY, 10);
    await turn();
    body.destroy();
    await expect(reading).rejects.toBeInstanceOf(IncompleteBody);
    for (const memory of [KEY, KEY].map(memoryOf)) memory.reserveNow(5 * MB);
    const memory = memoryOf(KEY);
    const waiting = collectBody(new PassThrough(), memory, { maxBytes: 5 * MB, announced: 5 * MB });
    await turn();
    memory.close();
    await expect(waiting).rejects.toBeInstanceOf(IncompleteBody);
  });

  it("fails with the reason of its signal, also while it waits", async () => {
    const controller = new AbortController();
    const limits = { maxBytes: MB, announced: 10, end: endOnAbort(controller.signal) };
    const reading = collectBody(new PassThrough(), memoryOf(KEY), limits);
    await turn();
    controller.abort("too late");
    await expect(reading).rejects.toBe("too late");
    await expect(collectBody(new PassThrough(), memoryOf(KEY), limits)).rejects.toBe("too late");
    for (const memory of [KEY, KEY].map(memoryOf)) memory.reserveNow(5 * MB);
    const later = new AbortController();
    const end = endOnAbort(later.signal);
    const waiting = collectBody(new PassThrough(), memoryOf(KEY), { maxBytes: 5 * MB, announced: 5 * MB, end });
    await turn();
    later.abort("too late again");
    await expect(waiting).rejects.toBe("too late again");
  });
});

describe("the time of a body", () => {
  beforeEach(() => vi.useFakeTimers({ toFake: ["setTimeout", "setInterval", "clearInterval", "performance"] }));
  afterEach(() => vi.useRealTimers());

  /** Sends this many bytes each second, and returns the second in which it was rejected. */
  async function refusedAfter(proof: Proof | undefined, bytesPerSecond: number): Promise<number | undefined> {
    const body = new PassThrough();
    let refusal: unknown;
    const limits = { maxBytes: 5 * MB, announced: proof ? 5 * MB : 60_000 };
    const reading = collectBody(body, memoryOf(proof), limits).catch((error: unknown) => (refusal = error));
    for (let second = 1; second <= 70; second += 1) {
      body.write(Buffer.alloc(bytesPerSecond));
      await turn();
      await vi.advanceTimersByTimeAsync(1_000);
      if (refusal === undefined) continue;
      expect(refusal).toMatchObject({ code: "malformed_body", refusal: "too_slow" });
      return second;
    }
    body.end();
    await reading;
    return undefined;
  }

  it.each<[string, Proof | undefined, number, number]>([
    ["an unauthenticated caller", undefined, 10_000, 6],
    ["a webhook", ADDRESS, 20_000, 11],
    ["a key, if it arrives without pause", KEY, 20_000, 61],
    ["a key, if it barely arrives", KEY, 1_000, 6],
    ["a key, if nothing arrives", KEY, 0, 6],
  ])("ends for %s", async (_, proof, bytesPerSecond, second) => {
    expect(await refusedAfter(proof, bytesPerSecond)).toBe(second);
  });

  it("does not pass while it waits for memory", async () => {
    const others = [KEY, KEY].map(memoryOf);
    for (const memory of others) memory.reserveNow(5 * MB);
    const body = new PassThrough();
    const whole = collect(body, KEY, 5 * MB);
    await vi.advanceTimersByTimeAsync(15_000);
    others[0]?.close();
    await turn();
    body.end(Buffer.alloc(10));
    expect(await whole).toHaveLength(10);
  });
});
