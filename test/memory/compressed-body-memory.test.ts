import { beforeEach, describe, expect, it } from "vitest";
import { newTenantId, newUuid } from "../../src/base/ids.js";
import { CompressedBodyMemory } from "../../src/memory/compressed-body-memory.js";
import { MemoryBudget } from "../../src/memory/memory-budget.js";
import type { ReservedMemory } from "../../src/memory/reserved-memory.js";
import { keyProof } from "../support/memory.js";

const MB = 1024 * 1024;
const LARGEST = 5 * MB;
const SESSION = keyProof(newTenantId(), newUuid(), newUuid());

let budget: MemoryBudget;
let opened: ReservedMemory[];
const reserved = () => 8 * LARGEST - budget.large.left / 8;
beforeEach(() => {
  budget = new MemoryBudget(LARGEST);
  opened = [];
});

function memory(): CompressedBodyMemory {
  const memory = budget.open(() => "10.0.0.1");
  memory.prove(SESSION);
  opened.push(memory);
  return new CompressedBodyMemory(memory, LARGEST);
}

describe("the memory of a compressed body", () => {
  it("is enough on an idle server for the largest body of a session, of the largest message", async () => {
    const one = memory();
    (await one.reserve(LARGEST)).shrink(LARGEST);
    await one.reserveInflated(LARGEST);
    expect(reserved()).toBe(1.25 * LARGEST);
    one.endInflation(LARGEST);
    expect(reserved()).toBe(1.25 * LARGEST);
  });

  it("is reduced to a quarter of the compressed bytes, and to the message", async () => {
    const one = memory();
    const reservation = await one.reserve(LARGEST);
    reservation.shrink(MB);
    expect(reserved()).toBe(1.25 * LARGEST);
    await one.reserveInflated(LARGEST);
    one.endInflation(2 * MB);
    expect(reserved()).toBe(2.25 * MB);
  });

  it("is reserved for the first of several messages ahead, and for others without waiting", async () => {
    const one = memory();
    (await one.reserve(MB)).shrink(MB);
    one.endInflation(LARGEST);
    await expect(one.reserveInflated(LARGEST)).rejects.toMatchObject({ refusal: "no_memory" });
  });

  it("is reserved as the message of a small body grows, after a wait if need be", async () => {
    const [first, second] = [memory(), memory()];
    await first.reserve(1_000);
    await first.reserveInflated(64 * 1024);
    await first.reserveInflated(LARGEST);
    expect(reserved()).toBe(LARGEST);
    await second.reserve(1_000);
    const waiting = second.reserveInflated(LARGEST);
    expect(budget.large.waiting).toBe(1);
    first.endInflation(100_000);
    await waiting;
    second.endInflation(70_000);
    expect(reserved()).toBe(170_000);
    for (const memory of opened) memory.close();
    expect([reserved(), budget.small.left]).toEqual([0, new MemoryBudget(LARGEST).small.left]);
  });

  it("is as large as the body if its messages are not compressed", async () => {
    const one = memory();
    (await one.reserve(LARGEST)).shrink(3 * MB);
    one.endPlain(3 * MB);
    expect(reserved()).toBe(3 * MB);
  });
});
