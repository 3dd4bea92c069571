import { beforeAll, describe, expect, it } from "vitest";
import { type RestClient, restClient } from "../../support/rest.js";
import { newTenant, type TestTenant } from "../../support/tenant.js";

let tenant: TestTenant;
beforeAll(async () => {
  tenant = await newTenant();
});

const regenerate = (id: string, client: RestClient = tenant.manage, headers: Record<string, string> = {}) =>
  client("POST", `/applications/${id}/regenerate`, { headers });
const works = async (key: string) => (await restClient(tenant.url, key)("GET", "/applications/key")).status === 200;

describe("regenerating the key of an application", () => {
  it("returns the application with its new key, the only one that works", async () => {
    const { id, key } = await tenant.application({ type: "private", permissions: ["token:create"] });
    const before = (await tenant.manage("GET", `/applications/${id}`)).body;
    const { status, body } = await regenerate(id);
    expect(status).toBe(200);
    expect(body).toEqual({ ...before, key: expect.stringMatching(/^key_prod_pvt_/), keys: [expect.anything()] });
    expect(body.keys[0].id).not.toBe(before.keys[0].id);
    expect([await works(key), await works(body.key)]).toEqual([false, true]);
    expect((await tenant.manage("GET", `/applications/${id}`)).body.keys).toEqual(body.keys);
  });

  it("may replace the management key that it is called with; the response still has the new one", async () => {
    const own = await tenant.application({ type: "management", permissions: ["application:update"] });
    const { status, body } = await regenerate(own.id, own);
    expect([status, await works(own.key), await works(body.key)]).toEqual([200, false, true]);
  });

  it("returns the same key for a repeat with the same idempotency key", async () => {
    const { id } = await tenant.application({ type: "public", permissions: ["token:create"] });
    const headers = { "BT-IDEMPOTENCY-KEY": "once" };
    const [first, second] = [
      await regenerate(id, tenant.manage, headers),
      await regenerate(id, tenant.manage, headers),
    ];
    expect(second.body).toEqual(first.body);
    expect(await works(first.body.key)).toBe(true);
  });

  it("is rejected for an application with several keys or none, which stay unchanged", async () => {
    const { id, key } = await tenant.application({ type: "private", permissions: ["token:create"] });
    const more = await tenant.manage("POST", `/applications/${id}/keys`);
    const refused = await regenerate(id);
    expect([refused.status, refused.body.code]).toEqual([422, "unprocessable"]);
    expect(refused.body.detail).toContain("2 keys");
    expect([await works(key), await works(more.body.key)]).toEqual([true, true]);

    const none = await tenant.manage("POST", "/applications", {
      body: { name: "None", type: "private", permissions: ["token:create"], create_key: false },
    });
    expect((await regenerate(none.body.id)).status).toBe(422);
  });

  it.each([
    [
      "another tenant's application",
      async () => (await newTenant()).application({ type: "private", permissions: ["token:read"] }),
    ],
    ["an invalid application", async () => ({ id: "01980f70-1a2b-7c4d-9e5f-60718293a4b5" })],
  ])("is a 404 for %s", async (_, application) => {
    expect((await regenerate((await application()).id)).status).toBe(404);
  });

  it("needs application:update", async () => {
    const { id } = await tenant.application({ type: "private", permissions: ["token:create"] });
    const permissions = ["application:create", "application:read", "application:delete"];
    const clerk = await tenant.application({ type: "management", permissions });
    expect((await regenerate(id, clerk)).status).toBe(403);
  });

  it("leaves exactly one key, known to some caller, after any number of concurrent calls", async () => {
    const { id } = await tenant.application({ type: "private", permissions: ["token:create"] });
    const responses = await Promise.all(Array.from({ length: 24 }, () => regenerate(id)));
    const served = responses.filter(({ status }) => status === 200);
    const refused = responses.filter(({ status }) => status !== 200);
    expect(served.length).toBeGreaterThan(0);
    for (const { status, body } of refused) expect([status, body.code]).toEqual([409, "conflict"]);
    const { keys } = (await tenant.manage("GET", `/applications/${id}`)).body;
    expect(keys).toHaveLength(1);
    const working = await Promise.all(served.map(({ body }) => works(body.key)));
    expect(working.filter(Boolean)).toHaveLength(1);
  });

  it("never leaves an unknown key when other keys are created and deleted concurrently", async () => {
    const { id, key } = await tenant.application({ type: "private", permissions: ["token:create"] });
    const keyPath = `/applications/${id}/keys`;
    const [{ id: first }] = (await tenant.manage("GET", `/applications/${id}`)).body.keys;
    const responses = await Promise.all([
      ...Array.from({ length: 6 }, () => regenerate(id)),
      ...Array.from({ length: 6 }, () => tenant.manage("POST", keyPath)),
      tenant.manage("DELETE", `${keyPath}/${first}`),
    ]);
    for (const { status } of responses) expect([200, 201, 204, 404, 409, 422]).toContain(status);
    const told = [key, ...responses.flatMap(({ body }) => body?.key ?? [])];
    const working = (await Promise.all(told.map(works))).filter(Boolean).length;
    expect((await tenant.manage("GET", `/applications/${id}`)).body.keys).toHaveLength(working);
  });
});
