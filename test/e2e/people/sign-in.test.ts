import { beforeAll, describe, expect, it } from "vitest";
import type { Role } from "../../../src/access/role.js";
import { newMember } from "../../support/member.js";
import type { RestResponse } from "../../support/rest.js";
import { type ServerHere, startServerHere } from "../../support/server-here.js";
import { newTenant, type TestTenant } from "../../support/tenant.js";
import { nextSignInLink, operatorLink, signedIn, signInLinks, TestBrowser } from "../../support/test-browser.js";

const ASK = "SignInService/AskForSignInLink";
const TAKE = "SignInService/TakeSignInLink";
const WHO = "SignInService/WhoAmI";
const OUT = "SignInService/SignOut";

let tenant: TestTenant;

/** The address of a new member. */
const member = (role: Role = "ADMIN") => newMember(tenant, role);

async function idOf(email: string): Promise<string> {
  const { body } = await tenant.manage("GET", "/tenants/self/members?size=50");
  return body.data.find(({ user }: { user: { email: string } }) => user.email === email).id;
}

async function logOf(type: string): Promise<readonly string[]> {
  const { body } = await tenant.manage("GET", `/logs?entity_type=${type}&size=50`);
  return body.data.map(({ message }: { message: string }) => message);
}

beforeAll(async () => {
  tenant = await newTenant();
});

describe("a mailed link", () => {
  it("signs its member in, once, in the browser that asked for it", async () => {
    const email = await member("AUDITOR");
    const browser = new TestBrowser();
    const asked = await browser.call(ASK, { email, tenantId: tenant.id });
    expect(asked).toMatchObject({ status: 200, body: {} });
    const link = await nextSignInLink(email);
    const taken = await browser.call(TAKE, { link });
    expect(taken.status).toBe(200);
    expect(taken.body).toMatchObject({ tenantId: tenant.id, tenantName: "Test", role: "AUDITOR", email });
    const who = await browser.call(WHO);
    expect(who.body).toEqual(taken.body);
    expect(who.body.signIn).toMatchObject({ method: "link", client: "Firefox on Linux", address: "127.0.0.1" });
    const again = await browser.call(TAKE, { link });
    expect(again).toMatchObject({ status: 400, body: { code: "invalid_argument" } });
    expect(await logOf("sign_in")).toContain("Sign-In created: link");
  });

  it("signs in once when it is used at the same time", async () => {
    const email = await member();
    const browser = new TestBrowser();
    await browser.call(ASK, { email, tenantId: tenant.id });
    const link = await nextSignInLink(email);
    const taken = await Promise.all(Array.from({ length: 6 }, () => browser.call(TAKE, { link })));
    expect(taken.map(({ status }) => status).toSorted()).toEqual([200, 400, 400, 400, 400, 400]);
  });

  it("does not work in another browser, also when it is forwarded, and still works in the first", async () => {
    const email = await member();
    const browser = new TestBrowser();
    await browser.call(ASK, { email, tenantId: tenant.id });
    const link = await nextSignInLink(email);
    const other = new TestBrowser();
    const refused = await other.call(TAKE, { link });
    expect(refused).toMatchObject({ status: 403, body: { message: expect.stringContaining("in the browser where") } });
    // Its own request gives a browser a cookie, of another link.
    await other.call(ASK, { email: "other@example.com", tenantId: tenant.id });
    expect((await other.call(TAKE, { link })).status).toBe(403);
    expect(other.cookie("sign-in")).toBeUndefined();
    expect((await browser.call(TAKE, { link })).status).toBe(200);
    // Written off the request's path.
    await expect.poll(() => logOf("sign_in")).toContain("Sign-In refused: another browser");
  });

  it("is not used up by HEAD, GET or a prefetch", async () => {
    const email = await member();
    const browser = new TestBrowser();
    await browser.call(ASK, { email, tenantId: tenant.id });
    const link = await nextSignInLink(email);
    for (const method of ["HEAD", "GET"]) {
      await browser.open(`${browser.url}/console/sign-in`, {}, method);
      expect((await browser.call(TAKE, {}, { method })).status).toBe(405);
    }
    const prefetched = await browser.call(TAKE, { link }, { headers: { "Sec-Purpose": "prefetch" } });
    expect(prefetched.status).toBe(403);
    expect((await browser.call(TAKE, { link })).status).toBe(200);
  });

  it("is mailed to members only, with the same response for every address", async () => {
    const email = await member();
    const browser = new TestBrowser();
    const unknown = `unknown-${tenant.id.slice(-12)}@example.com`;
    const responses: RestResponse[] = [];
    for (const asked of [unknown, email])
      responses.push(await browser.call(ASK, { email: asked, tenantId: tenant.id }));
    const [first, second] = responses.map(({ status, body, headers }) => ({
      status,
      body,
      names: [...headers.keys()],
    }));
    expect(first).toEqual(second);
    const elsewhere = await browser.call(ASK, { email, tenantId: "01900000-0000-7000-8000-000000000000" });
    expect(elsewhere).toMatchObject({ status: 200, body: {} });
    await nextSignInLink(email);
    expect(signInLinks(unknown)).toEqual([]);
  });

  it("is mailed to the address as the member has it, whatever its case in the request", async () => {
    const email = await member();
    await new TestBrowser().call(ASK, { email: email.toUpperCase(), tenantId: tenant.id });
    await nextSignInLink(email);
    expect(signInLinks(email.toUpperCase())).toEqual([]);
  });

  it.each(["", "lnk_x", "key_prod_mgt_x", "a".repeat(300)])("is refused as %j with the field", async (link) => {
    const refused = await new TestBrowser().call(TAKE, { link });
    expect(refused).toMatchObject({ status: 400, body: { code: "invalid_argument" } });
  });

  it("is refused for a member that was removed meanwhile", async () => {
    const email = await member();
    const link = await operatorLink(tenant.id, email);
    await tenant.manage("DELETE", `/tenants/self/members/${await idOf(email)}`);
    expect((await new TestBrowser().call(TAKE, { link })).status).toBe(400);
  });
});

describe("a sign-in", () => {
  it("has a cookie that scripts, other sites and other paths cannot use", async () => {
    const email = await member();
    const { headers } = await new TestBrowser().call(TAKE, { link: await operatorLink(tenant.id, email) });
    const [cookie = ""] = headers.getSetCookie();
    expect(cookie).toMatch(
      /^cloakroom-sign-in-[0-9a-f]{8}=sgn_\w+; Path=\/; HttpOnly; SameSite=Strict; Max-Age=43200$/,
    );
    expect(headers.get("cache-control")).toBe("no-store");
  });

  it("is new each time: a cookie that a browser has already is not taken over", async () => {
    const email = await member();
    const attacker = await signedIn(tenant.id, email);
    const planted = attacker.cookieHeader();
    const victim = new TestBrowser();
    const link = await operatorLink(tenant.id, "owner@example.com");
    const taken = await victim.call(TAKE, { link }, { headers: { Cookie: planted } });
    expect(taken.body.role).toBe("OWNER");
    expect(victim.cookieHeader()).not.toBe(planted);
    expect((await attacker.call(WHO)).body.role).toBe("ADMIN");
  });

  it.each([
    ["a page of another site", { "Sec-Fetch-Site": "cross-site" }],
    ["a page of a sister host", { "Sec-Fetch-Site": "same-site" }],
    ["an address that was typed", { "Sec-Fetch-Site": "none" }],
    ["a form, without our header", { "X-Cloakroom-Console": undefined }],
    ["an old browser on another origin", { "Sec-Fetch-Site": undefined, Origin: "https://evil.example" }],
    ["a program without Fetch Metadata and origin", { "Sec-Fetch-Site": undefined }],
  ])("is not taken from %s", async (_, headers) => {
    const browser = await signedIn(tenant.id, "owner@example.com");
    expect((await browser.call(WHO, {}, { headers })).status).toBe(403);
    expect((await browser.call("TenantService/GetTenant", {}, { headers })).status).toBe(403);
    expect((await browser.call(WHO)).status).toBe(200);
  });

  it("is taken from an old browser on the vault's own origin", async () => {
    const browser = await signedIn(tenant.id, "owner@example.com");
    const headers = { "Sec-Fetch-Site": undefined, Origin: browser.url };
    expect((await browser.call(WHO, {}, { headers })).status).toBe(200);
  });

  it("is not mixed with a key, and opens no REST path", async () => {
    const browser = await signedIn(tenant.id, "owner@example.com");
    const both = await browser.call(WHO, {}, { headers: { "BT-API-KEY": tenant.managementKey } });
    expect(both.status).toBe(400);
    const mixed = await browser.call(
      "TenantService/GetTenant",
      {},
      { headers: { "BT-API-KEY": tenant.managementKey } },
    );
    expect(mixed).toMatchObject({ status: 400, body: { message: expect.stringContaining("BT-API-KEY") } });
    const headers = { "Sec-Fetch-Site": "same-origin", "X-Cloakroom-Console": "1" };
    expect((await browser.open(`${browser.url}/tenants/self`, headers)).status).toBe(401);
    const asKey = await new TestBrowser().call(WHO, {}, { headers: { "BT-API-KEY": tenant.managementKey } });
    expect(asKey.status).toBe(400);
  });

  it("gets no CORS headers, which callers with keys do", async () => {
    const browser = await signedIn(tenant.id, "owner@example.com");
    const headers = { Origin: "https://shop.example" };
    const withCookie = await browser.call(WHO, {}, { headers });
    expect(withCookie.headers.get("access-control-allow-origin")).toBeNull();
    const withKey = await fetch(`${browser.url}/tenants/self`, {
      headers: { ...headers, "BT-API-KEY": tenant.managementKey },
    });
    expect(withKey.headers.get("access-control-allow-origin")).toBe("*");
    expect(withKey.headers.get("access-control-allow-credentials")).toBeNull();
  });

  it("ends when its person signs out, and elsewhere when it is ended from the list", async () => {
    const email = await member("DEVELOPER");
    const [here, there] = [await signedIn(tenant.id, email), await signedIn(tenant.id, email)];
    const { body } = await here.call("SignInService/ListSignIns");
    expect(body.data.map(({ current = false }) => current)).toEqual([false, true]);
    const stolen = there.cookieHeader();
    expect((await here.call("SignInService/EndSignIn", { id: body.data[0].id })).status).toBe(200);
    expect((await there.call(WHO, {}, { headers: { Cookie: stolen } })).status).toBe(401);
    const own = here.cookieHeader();
    expect((await here.call(OUT)).status).toBe(200);
    expect(here.cookie("sign-in")).toBeUndefined();
    expect((await here.call(WHO, {}, { headers: { Cookie: own } })).status).toBe(401);
    expect(await logOf("sign_in")).toContain("Sign-In deleted");
  });

  it("is listed and ended for others by OWNER and ADMIN only, and the OWNER's by the OWNER only", async () => {
    const [admin, developer] = [await member("ADMIN"), await member("DEVELOPER")];
    const [ownersBrowser, admins, developers] = await Promise.all(
      ["owner@example.com", admin, developer].map((email) => signedIn(tenant.id, email)),
    );
    const memberIdIn = async (browser = new TestBrowser()) => (await browser.call(WHO)).body;
    const [owner, one, other] = await Promise.all([ownersBrowser, admins, developers].map(memberIdIn));
    const list = (memberId: string) => ({ memberId });
    expect((await developers?.call("SignInService/ListSignIns", list(one.memberId)))?.status).toBe(403);
    expect((await developers?.call("SignInService/EndSignIn", { id: one.signIn.id }))?.status).toBe(403);
    expect((await admins?.call("SignInService/ListSignIns", list(other.memberId)))?.body.data).toHaveLength(1);
    expect((await admins?.call("SignInService/EndSignIn", { id: owner.signIn.id }))?.status).toBe(403);
    expect((await admins?.call("SignInService/EndSignIn", { id: other.signIn.id }))?.status).toBe(200);
    expect((await developers?.call(WHO))?.status).toBe(401);
    expect((await ownersBrowser?.call("SignInService/EndSignIn", { id: one.signIn.id }))?.status).toBe(200);
  });

  it("ends at once when its member is removed, or gets another role", async () => {
    const [removed, lowered] = [await member(), await member()];
    const [gone, changed] = [await signedIn(tenant.id, removed), await signedIn(tenant.id, lowered)];
    await tenant.manage("DELETE", `/tenants/self/members/${await idOf(removed)}`);
    expect((await gone.call("TenantService/GetTenant")).status).toBe(401);
    const role = { body: { role: "AUDITOR" } };
    expect((await tenant.manage("PUT", `/tenants/self/members/${await idOf(lowered)}`, role)).status).toBe(200);
    expect((await changed.call("TenantService/GetTenant")).status).toBe(401);
    const later = await signedIn(tenant.id, lowered);
    expect((await later.call(WHO)).body.role).toBe("AUDITOR");
  });

  it("moves to another tenant of the same person, and to no other", async () => {
    const other = await newTenant();
    const browser = await signedIn(tenant.id, "owner@example.com");
    const before = browser.cookieHeader();
    const { body: first } = await browser.call(WHO);
    const moved = await browser.call("SignInService/SwitchTenant", { tenantId: other.id });
    expect(moved.body).toMatchObject({ tenantId: other.id, role: "OWNER" });
    // Switching to and fro does not make a sign-in longer than 12 hours.
    expect(moved.body.signIn.expiresAt).toBe(first.signIn.expiresAt);
    expect((await browser.call(WHO)).body.tenantId).toBe(other.id);
    expect((await browser.call(WHO, {}, { headers: { Cookie: before } })).status).toBe(401);
    const admin = await signedIn(tenant.id, await member());
    expect((await admin.call("SignInService/SwitchTenant", { tenantId: other.id })).status).toBe(404);
  });
});

describe("on a server of its own", () => {
  let server: ServerHere;
  let own: TestTenant;
  beforeAll(async () => {
    // Who asks for a link shares a mail with others of the same minutes: this clock does not move.
    const now = Date.now();
    server = await startServerHere({ TRUSTED_PROXIES: "127.0.0.1" }, { clock: { now: () => now } });
    own = await newTenant(server.url, server.environment);
    return async () => server[Symbol.asyncDispose]();
  });

  const ask = (browser: TestBrowser, email: string, from: string) =>
    browser.call(ASK, { email, tenantId: own.id }, { headers: { "X-Forwarded-For": from } });
  /** Lets a browser ask for a link, and opens the newest one that was mailed. */
  const signInFrom = async (browser: TestBrowser, email: string, from: string, seen: number) => {
    await ask(browser, email, from);
    const link = await nextSignInLink(email, seen, server.environment);
    return browser.call(TAKE, { link }, { headers: { "X-Forwarded-For": from } });
  };
  /** One request of as many browsers, each from a network of its own. */
  const flood = async (email: string, networks: number) => {
    const asked: RestResponse[] = [];
    for (let index = 0; index < networks; index += 1) {
      asked.push(await ask(new TestBrowser(server.url), email, `203.0.${index}.7`));
    }
    return asked;
  };

  it("many who ask for a member's link share one mail, and the member signs in by it", async () => {
    const email = await newMember(own, "ADMIN", server.environment);
    const asked = await flood(email, 60);
    expect(new Set(asked.map(({ status }) => status))).toEqual(new Set([200]));
    expect(asked.map(({ headers }) => headers.getSetCookie().length)).toEqual(asked.map(() => 1));
    const taken = await signInFrom(new TestBrowser(server.url), email, "192.0.2.9", 0);
    expect(taken).toMatchObject({ status: 200, body: { email } });
    expect(signInLinks(email, server.environment)).toHaveLength(1);
  });

  it("a browser in which the member has signed in gets mails of its own", async () => {
    const email = await newMember(own, "ADMIN", server.environment);
    const browser = new TestBrowser(server.url);
    expect((await signInFrom(browser, email, "192.0.2.77", 0)).status).toBe(200);
    expect((await browser.call(WHO)).headers.getSetCookie()).toEqual([
      expect.stringMatching(
        /^cloakroom-known-[0-9a-f]{8}=kbr_\w+; Path=\/; HttpOnly; SameSite=Strict; Max-Age=15552000$/,
      ),
    ]);
    expect((await browser.call(WHO)).headers.getSetCookie()).toEqual([]);
    await browser.call(OUT);
    await flood(email, 12);
    await nextSignInLink(email, 1, server.environment);
    // Also where its network has used up what it may ask for.
    for (let time = 0; time < 35; time += 1)
      await ask(new TestBrowser(server.url), `x${time}@example.com`, "192.0.2.77");
    expect((await signInFrom(browser, email, "192.0.2.77", 2)).status).toBe(200);
  });

  it("a link that others asked for too opens in no browser that asked for another address", async () => {
    const [email, other] = [await newMember(own, "ADMIN", server.environment), "other@example.com"];
    const [asking, another] = [new TestBrowser(server.url), new TestBrowser(server.url)];
    await ask(asking, email, "198.18.0.7");
    await ask(another, other, "198.18.0.7");
    const link = await nextSignInLink(email, 0, server.environment);
    expect((await another.call(TAKE, { link })).status).toBe(403);
    expect((await new TestBrowser(server.url).call(TAKE, { link })).status).toBe(403);
    expect((await asking.call(TAKE, { link })).status).toBe(200);
  });

  it("networks are limited without a sign of it", async () => {
    const from = "198.51.100.7";
    for (let time = 1; time <= 31; time += 1) {
      const asked = await ask(new TestBrowser(server.url), `flood-${time}@example.com`, from);
      expect(asked).toMatchObject({ status: 200, body: {} });
      expect(asked.headers.getSetCookie()).toHaveLength(1);
    }
    const email = await newMember(own, "ADMIN", server.environment);
    expect((await ask(new TestBrowser(server.url), email, from)).status).toBe(200);
    expect((await signInFrom(new TestBrowser(server.url), email, "198.51.101.7", 0)).status).toBe(200);
    expect(signInLinks(email, server.environment)).toHaveLength(1);
  });

  it("a person without a tenant's id is asked for it once there are several", async () => {
    await newTenant(server.url, server.environment);
    const refused = await new TestBrowser(server.url).call(ASK, { email: "owner@example.com" });
    expect(refused).toMatchObject({ status: 400, body: { message: expect.stringContaining("tenant_id") } });
  });
});
