import { beforeEach, describe, expect, it } from "vitest";
import type { Role } from "../../../src/access/role.js";
import { newMember } from "../../support/member.js";
import { memberWithPasskey } from "../../support/passkeys.js";
import { newTenant, type TestTenant } from "../../support/tenant.js";
import { signedIn, type TestBrowser } from "../../support/test-browser.js";

/*
 * Reactors are configured with credentials of partners, which people see under their names only. Code puts them into what it
 * returns, and a proxy sends that where the proxy's author says.
 */

const CODE =
  "module.exports = async ({ args, configuration }) => ({ raw: { ...args, headers: { Authorization: configuration.KEY } } });";
const CONFIGURED = { name: "R", code: CODE, configuration: { KEY: "partner-secret" } };
const PLAIN = { name: "R", code: CODE };

let tenant: TestTenant;
beforeEach(async () => {
  tenant = await newTenant();
});

const weak = async (role: Role) => signedIn(tenant.id, await newMember(tenant, role));
const bind = (by: TestBrowser, reactor: string, as = "requestReactorId") =>
  by.call("ProxyService/CreateProxy", { name: "P", destinationUrl: "https://evil.example", [as]: reactor });
const reactorOf = async (by: TestBrowser | undefined, definition: object): Promise<string> => {
  const made = by
    ? await by.call("ReactorService/CreateReactor", definition)
    : await tenant.manage("POST", "/reactors", { body: definition });
  expect([200, 201], JSON.stringify(made.body)).toContain(made.status);
  return made.body.id;
};

describe("what a reactor is configured with", () => {
  it.each(["requestReactorId", "responseReactorId"])(
    "leaves through no proxy of people who may not have it, as %s",
    async (as) => {
      const reactor = await reactorOf(undefined, CONFIGURED);
      for (const role of ["DEVELOPER", "ADMIN"] as const) {
        const refused = await bind(await weak(role), reactor, as);
        expect(refused.status, role).toBe(403);
        expect(refused.body.message).toContain("a proxy that runs a reactor with the configuration of somebody else");
      }
      const { browser: developer } = await memberWithPasskey(tenant, "DEVELOPER");
      expect((await bind(developer, reactor, as)).status).toBe(403);
      const { browser: admin } = await memberWithPasskey(tenant, "ADMIN");
      expect((await bind(admin, reactor, as)).status).toBe(200);
    },
  );

  it("lets its author run its reactor, and everyone may run a reactor without a configuration", async () => {
    const developer = await weak("DEVELOPER");
    expect((await bind(developer, await reactorOf(developer, CONFIGURED))).status).toBe(200);
    expect((await bind(developer, await reactorOf(undefined, PLAIN))).status).toBe(200);
  });

  it("is not taken by an existing proxy that is led to the reactor", async () => {
    const developer = await weak("DEVELOPER");
    const [plain, configured] = [await reactorOf(undefined, PLAIN), await reactorOf(undefined, CONFIGURED)];
    const { body: proxy } = await bind(developer, plain);
    const led = { id: proxy.id, requestReactorId: configured, updateMask: "requestReactorId" };
    expect((await developer.call("ProxyService/UpdateProxy", led)).status).toBe(403);
  });

  it("is given to no reactor that the proxy of a DEVELOPER runs, by people or keys", async () => {
    const developer = await weak("DEVELOPER");
    const { browser: admin } = await memberWithPasskey(tenant, "ADMIN");
    const reactor = await reactorOf(admin, PLAIN);
    const { body: proxy } = await bind(developer, reactor);
    const configure = () =>
      admin.call("ReactorService/UpdateReactor", {
        ...{ id: reactor, configuration: { KEY: "partner-secret" }, updateMask: "configuration" },
      });
    const said = `This gives the reactor's configuration to the proxy ${proxy.id}`;
    expect((await configure()).body.message).toContain(said);
    const byKey = await tenant.manage("PUT", `/reactors/${reactor}`, { body: CONFIGURED });
    expect([byKey.status, byKey.body.detail]).toEqual([422, expect.stringContaining(said)]);
    const renamed = { id: reactor, name: "Another name", updateMask: "name" };
    expect((await admin.call("ReactorService/UpdateReactor", renamed)).status).toBe(200);
    expect((await admin.call("ProxyService/DeleteProxy", { id: proxy.id })).status).toBe(200);
    expect((await configure()).status).toBe(200);
  });

  it("is given to no reactor that the proxy of a removed member runs, who knows its key", async () => {
    const developer = await weak("DEVELOPER");
    const reactor = await reactorOf(undefined, PLAIN);
    expect((await bind(developer, reactor)).status).toBe(200);
    const { memberId } = (await developer.call("SignInService/WhoAmI")).body;
    expect((await tenant.manage("DELETE", `/tenants/self/members/${memberId}`)).status).toBe(204);
    const refused = await tenant.manage("PUT", `/reactors/${reactor}`, { body: CONFIGURED });
    expect([refused.status, refused.body.detail]).toEqual([422, expect.stringContaining("no longer a member")]);
  });

  it("is changed by its author where only the author's own proxies run it", async () => {
    const developer = await weak("DEVELOPER");
    const reactor = await reactorOf(developer, CONFIGURED);
    expect((await bind(developer, reactor)).status).toBe(200);
    const change = { id: reactor, configuration: { KEY: "another" }, updateMask: "configuration" };
    expect((await developer.call("ReactorService/UpdateReactor", change)).status).toBe(200);
  });
});
