import { BasisTheory, type BasisTheoryClient } from "@basis-theory/node-sdk";
import { beforeAll, describe, expect, it } from "vitest";
import { newTenant, type TestTenant } from "../../support/tenant.js";
import { newerClient, thrownBy } from "./clients.js";

describe("@basis-theory/node-sdk 5.7.0, management", () => {
  let tenant: TestTenant;
  let client: BasisTheoryClient;
  let backEnd: BasisTheoryClient;
  beforeAll(async () => {
    tenant = await newTenant();
    client = newerClient(tenant.managementKey);
    backEnd = newerClient((await tenant.backEnd()).key);
  });

  it("manages applications with rules and keys", async () => {
    const rules = [
      { description: "cards", priority: 1, container: "/pci/", transform: "mask", permissions: ["token:read"] },
    ];
    const made = await client.applications.create({ name: "Shop", type: "private", rules });
    expect(made).toMatchObject({ name: "Shop", type: "private", rules, tenantId: tenant.id, key: expect.any(String) });
    expect(made.createdAt).toBeInstanceOf(Date);
    const id = made.id ?? "";
    await expect(newerClient(made.key ?? "").applications.getByKey()).resolves.toMatchObject({ id, rules });
    const replaced = await client.applications.update(id, { name: "Till", permissions: ["token:create"] });
    expect(replaced).toMatchObject({ id, name: "Till", permissions: ["token:create"], rules: [] });
    const key = await client.applicationKeys.create(id);
    expect(key).toMatchObject({ id: expect.any(String), key: expect.any(String) });
    const shown = await client.applicationKeys.get(id, key.id ?? "");
    expect(shown).toMatchObject({ id: key.id });
    expect(shown.key).toBeUndefined();
    await expect(client.applicationKeys.delete(id, key.id ?? "")).resolves.toBeUndefined();
    await expect(client.applications.delete(id)).resolves.toBeUndefined();
    expect(await thrownBy(client.applications.get(id))).toBeInstanceOf(BasisTheory.NotFoundError);
  });

  // The other published clients read a page of keys. This client reads an array and gets one because it identifies itself.
  it("reads the complete list of an application's keys", async () => {
    const { id = "" } = await client.applications.create({
      name: "Keys",
      type: "private",
      permissions: ["token:read"],
    });
    for (let made = 0; made < 24; made += 1) await client.applicationKeys.create(id);
    const keys = await client.applicationKeys.list(id);
    expect(keys).toHaveLength(25);
    expect(new Set(keys.map((key) => key.id)).size).toBe(25);
    expect(keys.filter(({ key }) => key !== undefined)).toEqual([]);
    const page = await tenant.manage("GET", `/applications/${id}/keys`);
    expect(page.body.pagination).toEqual({ total_items: 25, page_number: 1, page_size: 20, total_pages: 2 });
    const other = await tenant.manage("GET", `/applications/${id}/keys`, { headers: { "X-Fern-SDK-Name": "another" } });
    expect(other.body.data).toHaveLength(20);
  });

  it("walks offset pages to their end and no further", async () => {
    const names = Array.from({ length: 5 }, (_, number) => `Walked ${number}`);
    const ids: string[] = [];
    for (const name of names) {
      const { id = "" } = await client.applications.create({ name, type: "public", permissions: ["token:create"] });
      ids.push(id);
    }
    const found: (string | undefined)[] = [];
    for await (const { name } of await client.applications.list({ id: ids, size: 2 })) found.push(name);
    expect(found.toSorted()).toEqual(names);
  });

  it("gets permissions, the tenant, its settings and its usage", async () => {
    const permissions = await client.permissions.list({ applicationType: "public" });
    expect(permissions).toContainEqual({
      type: "token:create",
      description: expect.any(String),
      applicationTypes: expect.arrayContaining(["public"]),
    });
    const updated = await client.tenants.self.update({ name: "Shop", settings: { deduplicate_tokens: "false" } });
    expect(updated).toMatchObject({ id: tenant.id, name: "Shop", settings: { deduplicate_tokens: "false" } });
    await expect(client.tenants.self.get()).resolves.toMatchObject({ id: tenant.id, ownerId: expect.any(String) });
    await backEnd.tokens.create({ type: "token", data: "counted" });
    const report = await client.tenants.self.getUsageReports();
    expect(report).toMatchObject({ token_report: { metrics_by_type: { token: { count: expect.any(Number) } } } });
  });

  it("walks the log, and lists its entity types", async () => {
    const { id = "" } = await backEnd.tokens.create({ type: "token", data: "logged" });
    for (let read = 0; read < 4; read += 1) await backEnd.tokens.get(id);
    const entries: BasisTheory.Log[] = [];
    for await (const entry of await client.logs.list({ entityType: "token", entityId: id, size: 2 }))
      entries.push(entry);
    expect(entries.map(({ operation }) => operation)).toEqual(["read", "read", "read", "read", "create"]);
    expect(entries[0]).toMatchObject({ tenantId: tenant.id, actorType: "application", createdAt: expect.any(Date) });
    const types = await client.logs.getEntityTypes();
    expect(types).toContainEqual({ displayName: expect.any(String), value: "card" });
    const past = await client.logs.list({ entityId: id, endDate: new Date(Date.now() - 3_600_000) });
    expect(past.data).toEqual([]);
  });

  it("manages proxies", async () => {
    const made = await client.proxies.create({
      name: "Payments",
      destinationUrl: "https://example.com/api",
      requestTransform: { code: "module.exports = async ({ args }) => args;" },
      configuration: { REGION: "eu", OLD: "1" },
      requireAuth: false,
    });
    const id = made.id ?? "";
    expect(made).toMatchObject({
      tenantId: tenant.id,
      name: "Payments",
      key: expect.any(String),
      destinationUrl: "https://example.com/api",
      requestTransform: { code: "module.exports = async ({ args }) => args;" },
      configuration: { REGION: "eu", OLD: "1" },
      requireAuth: false,
      createdAt: expect.any(Date),
    });
    await expect(client.proxies.patch(id, { name: "Pay", configuration: { REGION: "us" } })).resolves.toBeUndefined();
    await expect(client.proxies.get(id)).resolves.toMatchObject({
      name: "Pay",
      configuration: { REGION: "us", OLD: "1" },
    });
    const found: (string | undefined)[] = [];
    for await (const proxy of await client.proxies.list({ name: "Pa*" })) found.push(proxy.id);
    expect(found).toEqual([id]);
    const replaced = await client.proxies.update(id, { name: "New", destinationUrl: "https://example.org" });
    expect(replaced).toMatchObject({ name: "New", requireAuth: true });
    expect(replaced.requestTransform).toBeUndefined();
    await client.proxies.delete(id);
    expect(await thrownBy(client.proxies.get(id))).toBeInstanceOf(BasisTheory.NotFoundError);
    const wrong = client.proxies.create({ name: "x", destinationUrl: "https://10.0.0.1" });
    expect(await thrownBy(wrong)).toMatchObject({ statusCode: 400, body: { errors: expect.any(Object) } });
  });

  it("manages reactors and runs them, synchronously and asynchronously", async () => {
    const code = `module.exports = async ({ args, configuration }) => ({
      raw: { sum: args.a + Number(configuration.B), last4: args.card.slice(-4) },
      tokenize: { secret: "made here" },
    });`;
    const { id = "" } = await client.reactors.create({ name: "Adder", code, configuration: { B: "2" } });
    await expect(client.reactors.get(id)).resolves.toMatchObject({ id, name: "Adder", code });
    const { id: token = "" } = await backEnd.tokens.create({ type: "card_number", data: "4242424242424242" });
    const args = { a: 40, card: `{{ ${token} }}` };
    const done = await backEnd.reactors.react(id, { args });
    expect(done).toMatchObject({ raw: { sum: 42, last4: "4242" }, tokens: { secret: expect.any(String) } });
    const { secret } = Object(done.tokens);
    await expect(backEnd.tokens.get(secret)).resolves.toMatchObject({ data: "made here" });

    const { asyncReactorRequestId = "" } = await backEnd.reactors.reactAsync(id, { args });
    const later = async (): Promise<unknown> => {
      try {
        return await backEnd.reactors.results.get(id, asyncReactorRequestId);
      } catch (error) {
        expect(error).toBeInstanceOf(BasisTheory.NotFoundError);
        return undefined;
      }
    };
    await expect.poll(later).toMatchObject({ raw: { sum: 42 } });
    await client.reactors.delete(id);
    expect(await thrownBy(client.reactors.get(id))).toBeInstanceOf(BasisTheory.NotFoundError);
  });

  it("throws a reactor's error as the class of its status", async () => {
    const { id = "" } = await client.reactors.create({ name: "Thrower", code: "module.exports = 5;" });
    expect(await thrownBy(backEnd.reactors.react(id, { args: {} }))).toBeInstanceOf(
      BasisTheory.UnprocessableEntityError,
    );
    const missing = backEnd.reactors.react(id, { args: { a: "{{ not-there }}" } });
    expect(await thrownBy(missing)).toBeInstanceOf(BasisTheory.BadRequestError);
  });
});
