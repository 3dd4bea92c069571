import { beforeEach, describe, expect, it } from "vitest";
import { newMember } from "../../support/member.js";
import { memberWithPasskey } from "../../support/passkeys.js";
import { restClient } from "../../support/rest.js";
import { newTenant, type TestTenant } from "../../support/tenant.js";
import { signedIn, type TestBrowser } from "../../support/test-browser.js";

const CREATE_KEY = "ApplicationKeyService/CreateApplicationKey";
const DELETE_KEY = "ApplicationKeyService/DeleteApplicationKey";
const REGENERATE = "ApplicationService/RegenerateApplicationKey";
const UPDATE = "ApplicationService/UpdateApplication";
const DELETE = "ApplicationService/DeleteApplication";
const RIGHTS = { permissions: ["token:create"] };

let tenant: TestTenant;
beforeEach(async () => {
  tenant = await newTenant();
});

const works = async (key: string) => (await restClient(tenant.url, key)("GET", "/applications/key")).status === 200;
const statusOf = async (call: ReturnType<TestBrowser["call"]>) => (await call).status;

/** An application that a DEVELOPER made, with its only key. */
async function developed() {
  const developer = await signedIn(tenant.id, await newMember(tenant, "DEVELOPER"));
  const made = await developer.call("ApplicationService/CreateApplication", { name: "A", type: "private", ...RIGHTS });
  expect(made.status, JSON.stringify(made.body)).toBe(200);
  const { id, key, keys } = made.body;
  return { developer, id: String(id), key: String(key), keyId: String(keys[0].id) };
}

describe("a DEVELOPER", () => {
  it("replaces, deletes and makes keys of the DEVELOPER's own application", async () => {
    const { developer, id, key } = await developed();
    const again = await developer.call(REGENERATE, { id });
    expect([again.status, await works(key), await works(again.body.key)]).toEqual([200, false, true]);
    const more = await developer.call(CREATE_KEY, { id });
    expect(await statusOf(developer.call(DELETE_KEY, { id, keyId: more.body.id }))).toBe(200);
    expect(await statusOf(developer.call(DELETE, { id }))).toBe(200);
  });

  it("ends no key of that application which somebody else made, in whichever way", async () => {
    const { developer, id, keyId } = await developed();
    const { browser: admin } = await memberWithPasskey(tenant, "ADMIN");
    const { body: theirs } = await admin.call(CREATE_KEY, { id });
    expect(await statusOf(developer.call(DELETE_KEY, { id, keyId }))).toBe(200);
    for (const [operation, request] of [
      [REGENERATE, { id }],
      [DELETE_KEY, { id, keyId: theirs.id }],
      [DELETE, { id }],
    ] as const) {
      const refused = await developer.call(operation, request);
      expect({ operation, status: refused.status, message: refused.body.message }).toMatchObject({
        status: 403,
        message: expect.stringContaining("what you created"),
      });
    }
    expect(await works(theirs.key)).toBe(true);
    expect(await statusOf(developer.call(UPDATE, { id, name: "Another name", ...RIGHTS }))).toBe(200);
    expect(await statusOf(admin.call(REGENERATE, { id }))).toBe(200);
  });

  it("takes no rights that an ADMIN gave it, and ends the DEVELOPER's own key all the same", async () => {
    const { developer, id, key, keyId } = await developed();
    const { browser: admin } = await memberWithPasskey(tenant, "ADMIN");
    const more = { rules: [{ priority: 1, container: "/", transform: "reveal", permissions: ["token:read"] }] };
    expect(await statusOf(admin.call(UPDATE, { id, name: "A", ...more }))).toBe(200);
    for (const [operation, request] of [
      [REGENERATE, { id }],
      [CREATE_KEY, { id }],
      [UPDATE, { id, name: "A", ...RIGHTS }],
      [DELETE, { id }],
    ] as const) {
      expect(await statusOf(developer.call(operation, request)), operation).toBe(403);
    }
    expect(await works(key)).toBe(true);
    expect(await statusOf(developer.call(DELETE_KEY, { id, keyId }))).toBe(200);
    expect(await statusOf(admin.call(DELETE, { id }))).toBe(200);
  });
});

describe("the key of a management application", () => {
  const CLERK = ["application:create", "application:read", "application:update", "application:delete"];

  it("takes neither rights nor keys of a management application that holds more", async () => {
    const clerk = await tenant.application({ type: "management", permissions: CLERK });
    const chief = await tenant.application({ type: "management", permissions: [...CLERK, "log:read"] });
    const { body } = await tenant.manage("GET", `/applications/${chief.id}`);
    const at = `/applications/${chief.id}`;
    const refusals = [
      await clerk("POST", `${at}/keys`),
      await clerk("POST", `${at}/regenerate`),
      await clerk("DELETE", `${at}/keys/${body.keys[0].id}`),
      await clerk("PUT", at, { body: { name: "C", permissions: CLERK } }),
      await clerk("DELETE", at),
    ];
    for (const refused of refusals) {
      expect(refused).toMatchObject({ status: 403, body: { detail: expect.stringContaining("log:read") } });
    }
    expect(await works(chief.key)).toBe(true);
    expect((await chief("DELETE", `/applications/${clerk.id}`)).status).toBe(204);
  });

  it("manages all that hold as much, itself, and those with rights on tokens", async () => {
    const clerk = await tenant.application({ type: "management", permissions: CLERK });
    const equal = await tenant.application({ type: "management", permissions: CLERK });
    const backEnd = await tenant.backEnd();
    for (const [{ id }, permissions] of [
      [equal, ["application:read"]],
      [backEnd, ["token:create"]],
    ] as const) {
      expect((await clerk("POST", `/applications/${id}/regenerate`)).status).toBe(200);
      const { body: made } = await clerk("POST", `/applications/${id}/keys`);
      expect((await clerk("DELETE", `/applications/${id}/keys/${made.id}`)).status).toBe(204);
      expect((await clerk("PUT", `/applications/${id}`, { body: { name: "C", permissions } })).status).toBe(200);
      expect((await clerk("DELETE", `/applications/${id}`)).status).toBe(204);
    }
    expect((await clerk("DELETE", `/applications/${clerk.id}`)).status).toBe(204);
  });
});
