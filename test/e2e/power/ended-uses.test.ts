import { beforeEach, describe, expect, it } from "vitest";
import { storedContainer } from "../../../src/access/container.js";
import { newMember } from "../../support/member.js";
import { newTenant, type TestTenant } from "../../support/tenant.js";
import { signedIn, type TestBrowser } from "../../support/test-browser.js";

const CODE = "module.exports = async ({ body, headers }) => ({ body, headers });";
const PROXY = { name: "P", destination_url: "https://example.com" };
const DELETE_REACTOR = "ReactorService/DeleteReactor";
const DELETE_APPLICATION = "ApplicationService/DeleteApplication";

let tenant: TestTenant;
let developer: TestBrowser;
beforeEach(async () => {
  tenant = await newTenant();
  developer = await signedIn(tenant.id, await newMember(tenant, "DEVELOPER", undefined, [storedContainer("/shop/")]));
});

const statusOf = async (call: ReturnType<TestBrowser["call"]>) => (await call).status;
const own = async (operation: string, body: object): Promise<string> => {
  const made = await developer.call(operation, { name: "D", ...body });
  expect(made.status, JSON.stringify(made.body)).toBe(200);
  return made.body.id;
};
const make = async (path: string, body: object): Promise<string> =>
  (await tenant.manage("POST", path, { body })).body.id;

describe("a DEVELOPER deletes", () => {
  it("no reactor that a proxy of somebody else runs, until that does not", async () => {
    const id = await own("ReactorService/CreateReactor", { code: CODE });
    const proxy = await make("/proxies", { ...PROXY, response_reactor_id: id });
    const refused = await developer.call(DELETE_REACTOR, { id });
    expect(refused).toMatchObject({ status: 403, body: { message: expect.stringContaining("somebody else") } });
    expect((await tenant.manage("GET", `/reactors/${id}`)).status).toBe(200);
    expect((await tenant.manage("DELETE", `/proxies/${proxy}`)).status).toBe(204);
    expect(await statusOf(developer.call(DELETE_REACTOR, { id }))).toBe(200);
  });

  it("no application as which a proxy or reactor of somebody else acts, and takes none of its rights", async () => {
    for (const [path, code] of [
      ["/proxies", PROXY],
      ["/reactors", { name: "R", code: CODE }],
    ] as const) {
      const rules = [{ priority: 1, container: "/shop/", transform: "mask", permissions: ["token:read"] }];
      const rights = { type: "private", permissions: ["token:create"], rules };
      const id = await own("ApplicationService/CreateApplication", rights);
      const acting = await make(path, { ...code, application: { id } });
      expect(await statusOf(developer.call(DELETE_APPLICATION, { id })), path).toBe(403);
      const without = { id, name: "D", permissions: ["token:create"], rules: [] };
      const narrowed = await developer.call("ApplicationService/UpdateApplication", without);
      const body = { message: expect.stringMatching(/may not take rights from .* somebody else acts/) };
      expect(narrowed, path).toMatchObject({ status: 403, body });
      const renamed = { id, name: "E", permissions: ["token:create"], rules };
      expect(await statusOf(developer.call("ApplicationService/UpdateApplication", renamed)), path).toBe(200);
      expect((await tenant.manage("DELETE", `${path}/${acting}`)).status).toBe(204);
      expect(await statusOf(developer.call(DELETE_APPLICATION, { id })), path).toBe(200);
    }
  });

  it("what only the DEVELOPER's own proxies and reactors use", async () => {
    const reactorId = await own("ReactorService/CreateReactor", { code: CODE });
    const rights = { type: "private", permissions: ["token:create"] };
    const id = await own("ApplicationService/CreateApplication", rights);
    const reacting = { destinationUrl: PROXY.destination_url, requestReactorId: reactorId };
    await own("ProxyService/CreateProxy", { ...reacting, application: { id } });
    expect(await statusOf(developer.call(DELETE_REACTOR, { id: reactorId }))).toBe(200);
    expect(await statusOf(developer.call(DELETE_APPLICATION, { id }))).toBe(200);
  });
});

it("an ADMIN deletes what others' proxies use, also without a second factor", async () => {
  const admin = await signedIn(tenant.id, await newMember(tenant, "ADMIN"));
  const id = await own("ReactorService/CreateReactor", { code: CODE });
  await make("/proxies", { ...PROXY, response_reactor_id: id });
  expect(await statusOf(admin.call(DELETE_REACTOR, { id }))).toBe(200);
});
