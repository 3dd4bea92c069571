import { beforeAll, describe, expect, it } from "vitest";
import { newMember } from "../../support/member.js";
import { memberWithPasskey } from "../../support/passkeys.js";
import { newTenant, type TestTenant } from "../../support/tenant.js";
import { signedIn, type TestBrowser } from "../../support/test-browser.js";

/** Every setting that an ADMIN switches, with its value that helps a thief of a key or a sign-in. */
const LOOSE = [
  ["reveal_to_people", "true"],
  ["fingerprint_tokens", "true"],
  ["deduplicate_tokens", "true"],
  ["disable_ephemeral_proxy", "false"],
  ["record_log_reads", "false"],
] as const;

describe("an ADMIN", () => {
  let tenant: TestTenant;
  let weak: TestBrowser;
  let strong: TestBrowser;
  beforeAll(async () => {
    tenant = await newTenant();
    weak = await signedIn(tenant.id, await newMember(tenant, "ADMIN"));
    strong = (await memberWithPasskey(tenant, "ADMIN")).browser;
  });

  it.each(LOOSE)("switches %s to %s with a second factor only, and back without one", async (name, loose) => {
    const strict = loose === "true" ? "false" : "true";
    const put = (by: TestBrowser, value: string) =>
      by.call("TenantService/UpdateTenant", { name: "T", settings: { [name]: value } });
    const stored = async () => (await tenant.manage("GET", "/tenants/self")).body.settings[name];
    expect((await put(weak, strict)).status).toBe(200);
    const refused = await put(weak, loose);
    expect([refused.status, refused.body.message]).toEqual([403, expect.stringContaining("needs a second factor")]);
    expect(await stored()).toBe(strict);
    expect((await put(strong, loose)).status).toBe(200);
    expect(await stored()).toBe(loose);
    expect((await put(weak, strict)).status).toBe(200);
  });
});
