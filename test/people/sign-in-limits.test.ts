import { describe, expect, it } from "vitest";
import { SignInLimits } from "../../src/people/sign-in-limits.js";

/** How many of some links are allowed. */
async function allowed(count: number, ask: (index: number) => Promise<boolean>): Promise<number> {
  let passed = 0;
  for (let index = 0; index < count; index += 1) if (await ask(index)) passed += 1;
  return passed;
}

describe("mailed links", () => {
  it("are 5 an hour for an address in a tenant, in any case", async () => {
    const limits = new SignInLimits();
    const address = (index: number) => (index % 2 === 0 ? "ada@example.com" : "Ada@Example.com");
    expect(await allowed(9, (index) => limits.allowsLink("t", address(index), `network ${index}`))).toBe(5);
    expect(await limits.allowsLink("another", "ada@example.com", "network")).toBe(true);
  });

  it("are 20 an hour for a network", async () => {
    const limits = new SignInLimits();
    expect(await allowed(30, (index) => limits.allowsLink("t", `${index}@example.com`, "network"))).toBe(20);
    expect(await limits.allowsLink("t", "ada@example.com", "another network")).toBe(true);
  });

  it("are 200 a minute for the vault", async () => {
    const limits = new SignInLimits();
    expect(await allowed(250, (index) => limits.allowsLink("t", `${index}@example.com`, `${index}`))).toBe(200);
    expect(await limits.allowsOpenId()).toBe(false);
  });
});
