import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { newTenantId, newUuid } from "../../src/base/ids.js";
import { MemoryBudget } from "../../src/memory/memory-budget.js";
import type { Proof, Reservation } from "../../src/memory/request-memory.js";
import type { ReservedMemory } from "../../src/memory/reserved-memory.js";
import { keyProof } from "../support/memory.js";

const MB = 1024 * 1024;
const LARGEST = 5 * MB;

/** Reserves at once for as many requests as possible. */
function served(budget: MemoryBudget, bytes: number, requestOf: (index: number) => [string, Proof | undefined]) {
  const opened: ReservedMemory[] = [];
  for (let index = 0; index < 10_000; index += 1) {
    const [client, proof] = requestOf(index);
    const memory = budget.open(() => client);
    if (proof) memory.prove(proof);
    try {
      memory.reserveNow(bytes);
    } catch {
      break;
    }
    opened.push(memory);
  }
  return opened;
}

/** What a request does with its memory, by its number. */
const step = fc.record({
  request: fc.nat({ max: 5 }),
  act: fc.constantFrom("reserve", "reserveNow", "prove", "shrink", "close"),
  bytes: fc.constantFrom(1_000, 60_000, MB, LARGEST),
});

const outsider = (): [string, Proof] => [newUuid(), keyProof(newTenantId())];

describe("the memory for bodies", () => {
  it("remains for others next to one key, one session, one tenant and one address", () => {
    const [tenant, application] = [newTenantId(), newUuid()];
    const session = newUuid();
    const crowds: readonly (readonly [string, number, (index: number) => [string, Proof | undefined]])[] = [
      ["key", 2, (index) => [`10.0.0.${index}`, keyProof(tenant, application)]],
      ["session", 1, (index) => [`10.0.0.${index}`, keyProof(tenant, application, session)]],
      ["sessions of one key", 2, (index) => [`10.0.0.${index}`, keyProof(tenant, application, newUuid())]],
      ["tenant", 4, (index) => [`10.0.0.${index}`, keyProof(tenant)]],
      ["address", 4, () => ["10.0.0.1", keyProof(newTenantId())]],
      ["webhook", 1, (index) => [`10.0.0.${index}`, { kind: "address", tenantId: tenant, name: "webhook" }]],
    ];
    for (const [name, most, requestOf] of crowds) {
      const budget = new MemoryBudget(LARGEST);
      expect([name, served(budget, LARGEST, requestOf).length]).toEqual([name, most]);
      expect(served(budget, LARGEST, outsider).length).toBeGreaterThan(0);
      expect(served(budget, 60_000, outsider).length).toBeGreaterThan(20);
    }
  });

  it("has a part for unauthenticated callers, another one for those that sign in, and no large body for either", () => {
    const budget = new MemoryBudget(LARGEST);
    const fromMany = (index: number) => `10.${index >> 8}.${index & 255}.7`;
    expect(served(budget, 60_000, (index) => [fromMany(index), undefined])).toHaveLength(8);
    expect(served(budget, 60_000, () => ["10.9.9.9", undefined])).toHaveLength(0);
    expect(served(budget, 16_384, (index) => [fromMany(index), { kind: "sign_in" }])).toHaveLength(32);
    expect(served(budget, 60_000, outsider).length).toBeGreaterThan(50);
    expect(budget.open(() => "").allowance.maxBytes).toBe(64 * 1024);
    expect(served(budget, 1, () => ["10.0.0.1", { kind: "sign_in" }])).toHaveLength(0);
  });

  it("stays counted while work that uses it is under way, although the caller has left", async () => {
    const budget = new MemoryBudget(LARGEST);
    const free = budget.large.left;
    const tenantId = newTenantId();
    const ends: (() => void)[] = [];
    const works: Promise<void>[] = [];
    for (let index = 0; index < 50; index += 1) {
      const memory = budget.open(() => "10.0.0.1");
      memory.prove(keyProof(tenantId));
      if (!memory.reserveReadNow(LARGEST)) break;
      const work = Promise.withResolvers<void>();
      works.push(memory.during(() => work.promise));
      ends.push(work.resolve);
      memory.close();
    }
    expect(works.length).toBeLessThan(16);
    expect(budget.large.left).toBe(free - works.length * 4 * LARGEST);
    for (const end of ends) end();
    await Promise.all(works);
    expect(budget.large.left).toBe(free);
  });

  it("is released with the response, also what was reserved before the caller was known", () => {
    const budget = new MemoryBudget(LARGEST);
    const [small, large] = [budget.small.left, budget.large.left];
    const memory = budget.open(() => "10.0.0.1");
    memory.reserveNow(1_000);
    memory.prove(keyProof(newTenantId()));
    memory.reserveNow(LARGEST);
    expect([small - budget.small.left, large - budget.large.left]).toEqual([8_000, 8 * LARGEST]);
    memory.close();
    memory.close();
    expect([budget.small.left, budget.large.left]).toEqual([small, large]);
  });

  it("is waited for by callers with a key, until it is free or the caller disconnects", async () => {
    const budget = new MemoryBudget(LARGEST);
    const proof = keyProof(newTenantId());
    const [first, second] = served(budget, LARGEST, () => ["10.0.0.1", proof]);
    const [waiting, leaving] = [budget.open(() => "10.0.0.1"), budget.open(() => "10.0.0.1")];
    for (const memory of [waiting, leaving]) memory.prove(proof);
    const left = expect(leaving.reserve(LARGEST)).rejects.toMatchObject({ code: "unavailable", retryAfter: 1 });
    const granted = waiting.reserve(LARGEST);
    leaving.close();
    await left;
    first?.close();
    await granted;
    second?.close();
    waiting.close();
    expect(budget.large.left).toBe(8 * 8 * LARGEST);
  });

  it("is reduced to what a complete body needs, and what that releases serves one that waits", async () => {
    const budget = new MemoryBudget(LARGEST);
    const proof = keyProof(newTenantId());
    const [first, second, third] = [1, 2, 3].map(() => budget.open(() => "10.0.0.1"));
    for (const memory of [first, second, third]) memory?.prove(proof);
    const [one] = [first?.reserveNow(LARGEST), second?.reserveNow(LARGEST)];
    const waiting = third?.reserve(LARGEST);
    expect(budget.large.waiting).toBe(1);
    one?.shrink(100_000);
    await waiting;
    one?.shrink(LARGEST);
    expect(budget.large.left).toBe(8 * (8 * LARGEST - 2 * LARGEST - 100_000));
    first?.close();
    one?.shrink(0);
    expect(budget.large.left).toBe(8 * (8 * LARGEST - 2 * LARGEST));
    for (const memory of [second, third]) memory?.close();
    expect(budget.large.left).toBe(8 * 8 * LARGEST);
  });

  it("is shared by stored values that are read: 4 bytes for each of theirs, and none waits with a large body in hand", async () => {
    const budget = new MemoryBudget(LARGEST);
    const before = budget.large.left;
    const proof = keyProof(newTenantId());
    const open = () => {
      const memory = budget.open(() => "10.0.0.1");
      memory.prove(proof);
      return memory;
    };
    const large = open();
    large.reserveReadNow(200_000);
    const readers = Array.from({ length: 100 }, open);
    const granted = readers.filter((memory) => memory.reserveReadNow(LARGEST));
    expect(before - budget.large.left).toBe(4 * (granted.length * LARGEST + 200_000));
    expect(granted.length).toBeLessThan(16);

    const waiting = open();
    const later = waiting.reserveRead(LARGEST);
    await expect(large.reserveRead(LARGEST)).rejects.toMatchObject({ refusal: "no_memory" });
    for (const memory of [...granted, large]) memory.close();
    expect(() => large.reserveReadNow(LARGEST)).toThrow("The caller has disconnected.");
    (await later).shrink(0);
    expect(budget.large.left).toBe(before);
  });

  it("counts a value that is larger than any body as two of the largest", () => {
    const budget = new MemoryBudget(100_000);
    const memory = budget.open(() => "10.0.0.1");
    memory.prove(keyProof(newTenantId()));
    const before = budget.large.left;
    expect(memory.reserveReadNow(LARGEST)).toBeDefined();
    expect(before - budget.large.left).toBe(2 * 8 * 100_000);
  });

  it("is all free again once every request has ended, whatever they did and in whatever order", async () => {
    const proof = keyProof(newTenantId());
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
        const budget = new MemoryBudget(LARGEST);
        const opened = Array.from({ length: 6 }, (_, index) => budget.open(() => `10.0.0.${index % 2}`));
        const proven = new Set<ReservedMemory>();
        const given: Reservation[] = [];
        const waiting: Promise<unknown>[] = [];
        for (const { request, act, bytes } of steps) {
          const memory = opened[request] ?? expect.fail("there is no such request");
          const take = (reservation: Reservation) => given.push(reservation);
          if (act === "close") memory.close();
          // A caller is identified once, before its request waits for memory.
          if (act === "prove" && !proven.has(memory)) {
            proven.add(memory);
            memory.prove(proof);
          }
          if (act === "shrink") given.at(-1)?.shrink(bytes / 2);
          try {
            if (act === "reserveNow") take(memory.reserveNow(bytes));
            if (act === "reserve") waiting.push(Promise.resolve(memory.reserve(bytes)).then(take, () => undefined));
          } catch (error) {
            expect(error).toMatchObject({ code: "unavailable" });
          }
          for (const pool of [budget.small, budget.large]) expect(pool.left).toBeGreaterThanOrEqual(0);
          await Promise.resolve();
        }
        for (const memory of opened) memory.close();
        await Promise.all(waiting);
        const fresh = new MemoryBudget(LARGEST);
        for (const size of ["small", "large"] as const) {
          expect([budget[size].left, budget[size].waiting]).toEqual([fresh[size].size, 0]);
        }
        const again = (of: MemoryBudget) => served(of, LARGEST, () => ["10.0.0.0", proof]).length;
        expect(again(budget)).toBe(again(fresh));
      }),
      { numRuns: 200 },
    );
  });
});
