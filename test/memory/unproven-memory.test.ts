import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { MemoryBudget } from "../../src/memory/memory-budget.js";
import type { ReservedMemory } from "../../src/memory/reserved-memory.js";

const MB = 1024 * 1024;

/** A body of a sign-in that is withheld. */
interface Withheld {
  readonly network: string;
  readonly memory: ReservedMemory;
  isRefused: boolean;
}

/** A body of a sign-in that has arrived. */
function arrived(budget: MemoryBudget, network: string, bytes: number, isAnswered = false): ReservedMemory {
  const memory = budget.open(
    () => network,
    () => network,
    () => isAnswered,
  );
  memory.prove({ kind: "sign_in" });
  memory.reserveNow(bytes);
  return memory;
}

function withhold(budget: MemoryBudget, network: string, bytes: number): Withheld {
  const memory = arrived(budget, network, bytes);
  const body: Withheld = { network, memory, isRefused: false };
  memory.arrives(() => {
    body.isRefused = true;
  });
  return body;
}

describe("memory of callers that have proved nothing", () => {
  const schedule = fc.array(
    fc.record({
      network: fc.integer({ min: 1, max: 1_000 }),
      bytes: fc.constantFrom(1, 300, 4_000, 16_384),
      times: fc.constantFrom(1, 10, 300),
    }),
    { minLength: 1, maxLength: 30 },
  );

  it("is there for one more network, whatever bodies others withhold, and all free in the end", () => {
    fc.assert(
      fc.property(schedule, (floods) => {
        const budget = new MemoryBudget(5 * MB);
        const free = budget.signIn.left;
        const all: Withheld[] = [];
        for (const { network, bytes, times } of floods) {
          for (let time = 0; time < times; time += 1) all.push(withhold(budget, `n${network}`, bytes));
        }
        const own = withhold(budget, "own", 300);
        expect(own.isRefused).toBe(false);
        expect(budget.signIn.left).toBeGreaterThanOrEqual(0);
        for (const { memory } of [...all, own]) memory.close();
        expect(budget.signIn.left).toBe(free);
      }),
      { numRuns: 200 },
    );
  });

  it("is not kept by callers that do not read their responses", () => {
    const budget = new MemoryBudget(5 * MB);
    const free = budget.signIn.left;
    const unread = Array.from({ length: 2_000 }, (_, index) => arrived(budget, `n${index % 3}`, 16_384, true));
    const working = arrived(budget, "n1", 300);
    expect(budget.signIn.left).toBeGreaterThan(0);
    for (const memory of [...unread, working]) memory.close();
    expect(budget.signIn.left).toBe(free);
  });

  it("is taken from the network that holds the most, from its oldest body", () => {
    const budget = new MemoryBudget(5 * MB);
    const modest = [1, 2, 3].map(() => withhold(budget, "modest", 16_384));
    const flood = Array.from({ length: 500 }, () => withhold(budget, "flood", 16_384));
    expect(modest.some(({ isRefused }) => isRefused)).toBe(false);
    expect(flood.map(({ isRefused }) => isRefused).lastIndexOf(true)).toBe(500 - (32 - 3) - 1);
    expect(withhold(budget, "own", 300).isRefused).toBe(false);
  });

  it("is not taken from bodies that have arrived", () => {
    const budget = new MemoryBudget(5 * MB);
    const arrived = Array.from({ length: 32 }, (_, index) => {
      const memory = budget.open(() => `n${index}`);
      memory.prove({ kind: "sign_in" });
      memory.reserveNow(16_384);
      memory.arrives(() => {})();
      return memory;
    });
    expect(() => withhold(budget, "own", 300)).toThrow("share of the memory");
    arrived[0]?.close();
    expect(withhold(budget, "own", 300).isRefused).toBe(false);
  });
});
