import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import {
  FIRST_OF_NETWORK,
  memorySignInLimits,
  type SignInAttempt,
  type SignInLimits,
} from "../../src/rate-limits/sign-in-limits.js";

/** How many of some attempts are allowed. */
async function allowed(count: number, ask: (index: number) => Promise<boolean>): Promise<number> {
  let passed = 0;
  for (let index = 0; index < count; index += 1) if (await ask(index)) passed += 1;
  return passed;
}

const link = (limits: SignInLimits, email: string, network: string, tenantId = "t") =>
  limits.allows({ kind: "link", tenantId, email, network });

describe("requests for a mailed link", () => {
  it("are 10 in 10 minutes for an address from one network, in any case", async () => {
    const limits = memorySignInLimits();
    const address = (index: number) => (index % 2 === 0 ? "ada@example.com" : "Ada@Example.com");
    expect(await allowed(15, (index) => link(limits, address(index), "network"))).toBe(10);
    expect(await link(limits, "ada@example.com", "another network")).toBe(true);
    expect(await link(limits, "ada@example.com", "network", "another tenant")).toBe(true);
  });

  it("are 30 a minute for a network", async () => {
    const limits = memorySignInLimits();
    expect(await allowed(50, (index) => link(limits, `${index}@example.com`, "network"))).toBe(30);
    expect(await link(limits, "ada@example.com", "another network")).toBe(true);
  });

  it("are 200 a minute for the vault beyond the first of each network", async () => {
    const limits = memorySignInLimits();
    const fromTen = (index: number) => link(limits, `${index}@example.com`, `network ${index % 10}`);
    expect(await allowed(400, fromTen)).toBe(10 * FIRST_OF_NETWORK + 200);
    expect(await allowed(10, (index) => link(limits, `${index}@example.com`, "one more"))).toBe(FIRST_OF_NETWORK);
  });

  it("beyond those of a network use up nothing of the vault's", async () => {
    const limits = memorySignInLimits();
    await allowed(300, (index) => link(limits, `${index}@example.com`, "network"));
    await allowed(300, () => limits.allows({ kind: "openid", network: "network" }));
    expect(await allowed(40, (index) => link(limits, `${index}@example.com`, "another network"))).toBe(30);
  });

  it("come from a known browser whatever its network has used, 20 an hour", async () => {
    vi.useFakeTimers();
    try {
      const limits = memorySignInLimits();
      const known = { kind: "link", tenantId: "t", email: "ada@example.com", network: "office", browser: "b" } as const;
      await allowed(100, (index) => link(limits, `${index}@example.com`, "office"));
      expect(await allowed(30, () => limits.allows(known))).toBe(20);
      vi.advanceTimersByTime(3_601_000);
      expect(await limits.allows(known)).toBe(true);
    } finally {
      vi.useRealTimers();
    }
  });
});

describe("a member's own attempts", () => {
  const others = fc.integer({ min: 1, max: 1_000 });
  const attempt = fc.record({
    network: others,
    email: fc.constantFrom("ada@example.com", "ADA@example.com", "bob@example.com"),
    kind: fc.constantFrom("link" as const, "openid" as const),
    times: fc.constantFrom(1, 5, 40),
  });

  it("are let through after any schedule of attempts from other networks", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(attempt, { maxLength: 40 }), fc.boolean(), async (schedule, isByLink) => {
        const limits = memorySignInLimits();
        for (const { network, email, kind, times } of schedule) {
          const theirs = { network: `other ${network}` };
          const made: SignInAttempt = kind === "link" ? { kind, tenantId: "t", email, ...theirs } : { kind, ...theirs };
          await allowed(times, () => limits.allows(made));
        }
        const own: SignInAttempt = isByLink
          ? { kind: "link", tenantId: "t", email: "ada@example.com", network: "own" }
          : { kind: "openid", network: "own" };
        expect(await allowed(FIRST_OF_NETWORK, () => limits.allows(own))).toBe(FIRST_OF_NETWORK);
      }),
      { numRuns: 200 },
    );
  });
});
