import { expect, it } from "vitest";
import { newMember } from "../../support/member.js";
import { newTenant } from "../../support/tenant.js";
import { signedIn } from "../../support/test-browser.js";

const WHO = "SignInService/WhoAmI";

it("a member who asks as a new browser each time is given at most ten cookies in a day", async () => {
  const tenant = await newTenant();
  const browser = await signedIn(tenant.id, await newMember(tenant, "AUDITOR"));
  const signInOnly = { headers: { Cookie: browser.cookieHeader() } };
  const ask = async () => (await browser.call(WHO, {}, signInOnly)).headers.getSetCookie();
  const given: string[] = [];
  for (let time = 0; time < 4; time += 1) given.push(...(await Promise.all(Array.from({ length: 8 }, ask))).flat());
  expect(given.every((cookie) => cookie.startsWith("cloakroom-known-"))).toBe(true);
  expect(given.length).toBeGreaterThan(0);
  expect(given.length).toBeLessThanOrEqual(10);
  // Another member has ten of its own.
  const other = await signedIn(tenant.id, await newMember(tenant, "AUDITOR"));
  expect((await other.call(WHO)).headers.getSetCookie()).toHaveLength(1);
});
