import { beforeAll, describe, expect, it } from "vitest";
import { ApplicationKeyService } from "../../../gen/cloakroom/v1/applications_pb.js";
import { TokenService } from "../../../gen/cloakroom/v1/tokens_pb.js";
import { type RestClient, restClient } from "../../support/rest.js";
import { failureOf, rpcClient } from "../../support/rpc.js";
import { newTenant, type TestTenant } from "../../support/tenant.js";

const reveal = (container: string) => ({
  priority: 1,
  container,
  transform: "reveal",
  permissions: ["token:create", "token:read"],
});

describe("a permission that is revoked", () => {
  let tenant: TestTenant;
  let tokenId: string;
  beforeAll(async () => {
    tenant = await newTenant();
    const backEnd = await tenant.backEnd();
    tokenId = (await backEnd("POST", "/tokens", { body: { type: "token", data: "x", containers: ["/a/"] } })).body.id;
  });

  const holder = () => tenant.application({ type: "private", rules: [reveal("/a/")] });
  const keyOf = async (applicationId: string) =>
    (await tenant.manage("GET", `/applications/${applicationId}/keys`)).body.data[0].id;
  /** Every use of a key, so the server has its permissions cached. */
  const uses = (client: RestClient) => [
    () => client("GET", `/tokens/${tokenId}`),
    () => client("POST", "/tokens", { body: { type: "token", data: 1, containers: ["/a/"] } }),
    () => client("POST", "/detokenize", { body: `{{ ${tokenId} }}` }),
    () => client("GET", "/applications/key"),
    () => client("GET", "/permissions"),
  ];
  const statuses = (client: RestClient) => Promise.all(uses(client).map(async (use) => (await use()).status));

  it("is gone at once after the key is deleted", async () => {
    const client = await holder();
    expect(await statuses(client)).toEqual([200, 201, 200, 200, 200]);
    const keyId = await keyOf(client.id);
    expect(await tenant.manage("DELETE", `/applications/${client.id}/keys/${keyId}`)).toMatchObject({ status: 204 });
    expect(await statuses(client)).toEqual([401, 401, 401, 401, 401]);
  });

  it("is gone at once over gRPC after the key is deleted", async () => {
    const { id, key } = await holder();
    const tokens = rpcClient(TokenService, "gRPC", { key });
    expect(await tokens.getToken({ id: tokenId })).toMatchObject({ id: tokenId });
    const keys = rpcClient(ApplicationKeyService, "gRPC", { key: tenant.managementKey });
    await keys.deleteApplicationKey({ id, keyId: await keyOf(id) });
    expect(await failureOf(tokens.getToken({ id: tokenId }))).toMatchObject({ code: "Unauthenticated" });
  });

  it("stays with the application's other keys after one is deleted", async () => {
    const client = await holder();
    const { body } = await tenant.manage("POST", `/applications/${client.id}/keys`);
    const second = restClient(tenant.url, body.key);
    expect(await second("GET", `/tokens/${tokenId}`)).toMatchObject({ status: 200 });
    await tenant.manage("DELETE", `/applications/${client.id}/keys/${body.id}`);
    expect(await second("GET", `/tokens/${tokenId}`)).toMatchObject({ status: 401 });
    expect(await statuses(client)).toEqual([200, 201, 200, 200, 200]);
  });

  it("is gone at once after the key is regenerated, and the new key works", async () => {
    const client = await holder();
    const old = await statuses(client);
    const { status, body } = await tenant.manage("POST", `/applications/${client.id}/regenerate`);
    expect(status).toBe(200);
    expect(await statuses(client)).toEqual([401, 401, 401, 401, 401]);
    expect(await statuses(restClient(tenant.url, body.key))).toEqual(old);
  });

  it("is gone at once after the application is deleted, with all of its keys", async () => {
    const client = await holder();
    const second = restClient(tenant.url, (await tenant.manage("POST", `/applications/${client.id}/keys`)).body.key);
    expect(await statuses(client)).toEqual(await statuses(second));
    expect(await tenant.manage("DELETE", `/applications/${client.id}`)).toMatchObject({ status: 204 });
    expect(await statuses(client)).toEqual([401, 401, 401, 401, 401]);
    expect(await statuses(second)).toEqual([401, 401, 401, 401, 401]);
  });

  it("is gone at once after rules and permissions change, and a granted one works at once", async () => {
    const client = await holder();
    expect(await statuses(client)).toEqual([200, 201, 200, 200, 200]);
    const put = (body: object) =>
      tenant.manage("PUT", `/applications/${client.id}`, { body: { name: "Changed", ...body } });
    expect(await put({ rules: [reveal("/b/")] })).toMatchObject({ status: 200 });
    expect(await statuses(client)).toEqual([403, 403, 403, 200, 200]);
    expect(await put({ permissions: ["token:create"] })).toMatchObject({ status: 200 });
    expect(await statuses(client)).toEqual([403, 201, 403, 200, 200]);
    expect(await put({ rules: [{ ...reveal("/a/"), transform: "mask" }] })).toMatchObject({ status: 200 });
    expect((await client("GET", `/tokens/${tokenId}`)).body).not.toHaveProperty("data");
    expect(await put({ rules: [reveal("/")] })).toMatchObject({ status: 200 });
    expect((await client("GET", `/tokens/${tokenId}`)).body.data).toBe("x");
  });

  it("is gone at once from a management application", async () => {
    const manager = await tenant.application({
      type: "management",
      permissions: ["log:read", "tenant:read", "application:read"],
    });
    const paths = ["/logs", "/logs/entity-types", "/tenants/self", "/applications"];
    const all = () => Promise.all(paths.map(async (path) => (await manager("GET", path)).status));
    expect(await all()).toEqual([200, 200, 200, 200]);
    await tenant.manage("DELETE", `/applications/${manager.id}`);
    expect(await all()).toEqual([401, 401, 401, 401]);
  });

  const reason = { "X-Cloakroom-Reason": "~~" };
  it.each<[string, (client: RestClient) => ReturnType<RestClient>]>([
    ["a body that is not valid", (client) => client("POST", "/tokens", { body: { type: "token" } })],
    ["a reason that is not accepted", (client) => client("GET", "/permissions", { headers: reason })],
    [
      "a reason that is not accepted, through a proxy",
      (client) => client("GET", "/proxy", { headers: { ...reason, "BT-PROXY-URL": "https://example.com" } }),
    ],
  ])("is gone at once for a request with %s", async (_, send) => {
    const client = await tenant.backEnd();
    expect((await send(client)).status).toBe(400);
    expect((await client("GET", "/applications/key")).status).toBe(200);
    await tenant.manage("DELETE", `/applications/${client.id}`);
    expect((await send(client)).status).toBe(401);
  });

  it("is granted at once to a management key, which may then give it", async () => {
    const manager = await tenant.application({ type: "management", permissions: ["application:create"] });
    const give = () =>
      manager("POST", "/applications", { body: { name: "A", type: "management", permissions: ["log:read"] } });
    expect((await give()).status).toBe(403);
    const body = { name: "Manager", permissions: ["application:create", "log:read"] };
    expect((await tenant.manage("PUT", `/applications/${manager.id}`, { body })).status).toBe(200);
    expect((await give()).status).toBe(201);
  });

  it("includes the key that revoked it, if that is its own", async () => {
    const manager = await tenant.application({
      type: "management",
      permissions: ["application:delete", "application:read"],
    });
    expect(await manager("DELETE", `/applications/${manager.id}`)).toMatchObject({ status: 204 });
    expect(await manager("GET", "/applications")).toMatchObject({ status: 401 });
  });

  it("is gone at once after a setting changes: nothing is deduplicated after it is switched off", async () => {
    const own = await newTenant();
    const backEnd = await own.backEnd();
    const set = (deduplicate_tokens: string) =>
      own.manage("PUT", "/tenants/self", { body: { name: "Own", settings: { deduplicate_tokens } } });
    const create = async () => (await backEnd("POST", "/tokens", { body: { type: "token", data: "same" } })).body.id;
    await set("true");
    expect(await create()).toBe(await create());
    await set("false");
    expect(await create()).not.toBe(await create());
  });

  it.each([
    [
      "its key is deleted",
      async (id: string, keyId: string) => tenant.manage("DELETE", `/applications/${id}/keys/${keyId}`),
      401,
    ],
    ["its application is deleted", async (id: string) => tenant.manage("DELETE", `/applications/${id}`), 401],
    [
      "its rule is changed",
      async (id: string) =>
        tenant.manage("PUT", `/applications/${id}`, { body: { name: "x", rules: [reveal("/b/")] } }),
      403,
    ],
  ])("under load serves no request that is sent after %s", async (_, take, refusedWith) => {
    const client = await holder();
    const keyId = await keyOf(client.id);
    let hasTaken = false;
    const seen: { readonly sentAfter: boolean; readonly status: number }[] = [];
    const served = () => seen.filter(({ status }) => status < 300).length;
    const worker = async (offset: number) => {
      let sentAfter = 0;
      for (let turn = offset; sentAfter < 5; turn += 1) {
        const isSentAfter = hasTaken;
        const use = uses(client)[turn % 3];
        if (!use) throw new Error("there is nothing to use");
        const { status } = await use();
        seen.push({ sentAfter: isSentAfter, status });
        if (isSentAfter) sentAfter += 1;
      }
    };
    const workers = Array.from({ length: 12 }, (_, offset) => worker(offset));
    await expect.poll(served).toBeGreaterThan(20);
    expect((await take(client.id, keyId)).status).toBeLessThan(300);
    hasTaken = true;
    await Promise.all(workers);
    const after = seen.filter(({ sentAfter }) => sentAfter);
    const before = seen.filter(({ sentAfter }) => !sentAfter);
    expect(after).toHaveLength(12 * 5);
    expect(new Set(after.map(({ status }) => status))).toEqual(new Set([refusedWith]));
    // Every request in flight was either served or rejected; nothing else went wrong.
    expect(before.filter(({ status }) => status >= 300 && status !== refusedWith)).toEqual([]);
  });
});
