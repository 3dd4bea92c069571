import { describe, expect, it, vi } from "vitest";
import { memorySignInLimits, type SignInLimits } from "../../src/rate-limits/sign-in-limits.js";

/** How many of some links are allowed. */
async function allowed(count: number, ask: (index: number) => Promise<boolean>): Promise<number> {
  let passed = 0;
  for (let index = 0; index < count; index += 1) if (await ask(index)) passed += 1;
  return passed;
}

const link = (limits: SignInLimits, tenantId: string, email: string, network: string) =>
  limits.allows({ kind: "link", tenantId, email, network });

describe("mailed links", () => {
  it("are 5 an hour for an address in a tenant, in any case", async () => {
    const limits = memorySignInLimits();
    const address = (index: number) => (index % 2 === 0 ? "ada@example.com" : "Ada@Example.com");
    expect(await allowed(9, (index) => link(limits, "t", address(index), `network ${index}`))).toBe(5);
    expect(await link(limits, "another", "ada@example.com", "network")).toBe(true);
  });

  it("are 20 an hour for a network", async () => {
    const limits = memorySignInLimits();
    expect(await allowed(30, (index) => link(limits, "t", `${index}@example.com`, "network"))).toBe(20);
    expect(await link(limits, "t", "ada@example.com", "another network")).toBe(true);
  });

  it("are 200 a minute for the vault", async () => {
    const limits = memorySignInLimits();
    expect(await allowed(250, (index) => link(limits, "t", `${index}@example.com`, `${index}`))).toBe(200);
    expect(await limits.allows({ kind: "openid", network: "network" })).toBe(false);
  });

  it("beyond those of a network use up nothing of the vault's", async () => {
    const limits = memorySignInLimits();
    await allowed(300, (index) => link(limits, "t", `${index}@example.com`, "network"));
    await allowed(300, () => limits.allows({ kind: "openid", network: "network" }));
    expect(await link(limits, "t", "ada@example.com", "another network")).toBe(true);
    expect(await limits.allows({ kind: "openid", network: "another network" })).toBe(true);
  });

  it("beyond those of the vault cost a network nothing, and take no memory for it", async () => {
    vi.useFakeTimers();
    try {
      const limits = memorySignInLimits();
      await allowed(200, (index) => link(limits, "t", `${index}@example.com`, `${index}`));
      expect(await allowed(30, (index) => link(limits, "t", `n${index}@example.com`, "network"))).toBe(0);
      vi.advanceTimersByTime(61_000);
      expect(await allowed(30, (index) => link(limits, "t", `n${index}@example.com`, "network"))).toBe(20);
    } finally {
      vi.useRealTimers();
    }
  });
});
