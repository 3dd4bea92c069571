import type { BasisTheory } from "@basis-theory/basis-theory-js/types/sdk/index.js";
import { beforeAll, describe, expect, it } from "vitest";
import { newTenant, type TestTenant } from "../../support/tenant.js";
import { olderClient, thrownBy } from "./clients.js";

describe("@basis-theory/basis-theory-js 4.30.2, management", () => {
  let tenant: TestTenant;
  let client: BasisTheory;
  let backEnd: BasisTheory;
  beforeAll(async () => {
    tenant = await newTenant();
    client = await olderClient(tenant.managementKey);
    backEnd = await olderClient((await tenant.backEnd()).key);
  });

  it("manages applications and their keys", async () => {
    const made = await client.applications.create({
      name: "Shop",
      type: "private",
      rules: [{ description: "all", priority: 1, container: "/", transform: "reveal", permissions: ["token:read"] }],
    });
    expect(made).toMatchObject({ name: "Shop", type: "private", key: expect.any(String), permissions: [] });
    const own = await olderClient(made.key ?? "");
    await expect(own.applications.retrieveByKey()).resolves.toMatchObject({ id: made.id });
    const changed = await client.applications.update(made.id, { name: "Till", permissions: ["token:use"] });
    expect(changed).toMatchObject({ name: "Till", permissions: ["token:use"], rules: [] });
    const key = await client.applicationKeys.create(made.id);
    expect(key).toMatchObject({ id: expect.any(String), key: expect.any(String) });
    const keys = await client.applicationKeys.get(made.id);
    expect(keys).toMatchObject({ pagination: { totalItems: 2 }, data: [{ id: expect.any(String) }, {}] });
    await client.applicationKeys.delete(made.id, key.id ?? "");
    const { data } = await client.applications.list({ id: [made.id] });
    expect(data.map(({ id }) => id)).toEqual([made.id]);
    await client.applications.delete(made.id);
    expect(await thrownBy(client.applications.retrieve(made.id))).toMatchObject({ status: 404 });
  });

  it("creates and updates applications from earlier responses, keys included", async () => {
    const made = await client.applications.create({ name: "First", type: "private", permissions: ["token:read"] });
    const { keys = [] } = await client.applications.retrieve(made.id);
    const copy = await client.applications.create({ ...made, name: "Second" });
    expect(copy).toMatchObject({ name: "Second", permissions: ["token:read"], keys: [{ id: expect.any(String) }] });
    expect(copy.id).not.toBe(made.id);
    expect(copy.key).not.toBe(made.key);
    expect(copy.keys?.[0]?.id).not.toBe(keys[0]?.id);
    const withoutKeys = { ...made, name: "Third", keys: [] };
    expect(await client.applications.update(made.id, withoutKeys)).toMatchObject({ name: "Third", keys });
    await expect((await olderClient(made.key ?? "")).applications.retrieveByKey()).resolves.toMatchObject({ keys });
  });

  it("gets permissions, the tenant, its usage and its log", async () => {
    const permissions = await client.permissions.list({ applicationType: "management" });
    expect(permissions.map(({ type }) => type)).toContain("log:read");
    const renamed = await client.tenants.update({ name: "Shop", settings: { fingerprint_tokens: "true" } });
    expect(renamed).toMatchObject({ id: tenant.id, name: "Shop", settings: { fingerprintTokens: "true" } });
    await expect(client.tenants.retrieve()).resolves.toMatchObject({ ownerId: expect.any(String), name: "Shop" });
    const { id, fingerprint } = await backEnd.tokens.create({ type: "token", data: "x" });
    expect(fingerprint).toEqual(expect.any(String));
    await expect(client.tenants.retrieveUsageReport()).resolves.toMatchObject({
      tokenReport: { metricsByType: { token: { count: 1, lastCreatedAt: expect.any(String) } } },
    });
    for (let read = 0; read < 3; read += 1) await backEnd.tokens.retrieve(id);
    const first = await client.logs.list({ entityType: "token", entityId: id, size: 3 });
    expect(first.data.map(({ operation }) => operation)).toEqual(["read", "read", "read"]);
    const { after: start = "" } = first.pagination;
    const rest = await client.logs.list({ entityType: "token", entityId: id, size: 3, start });
    expect(rest.data.map(({ operation }) => operation)).toEqual(["create"]);
    expect(rest.pagination.after).toBeUndefined();
  });

  it("manages members", async () => {
    const { data, pagination } = await client.tenants.listMembers();
    expect(pagination).toMatchObject({ totalItems: 1, pageNumber: 1, pageSize: 20 });
    expect(data).toMatchObject([{ role: "OWNER", user: { id: expect.any(String) }, tenantId: tenant.id }]);
  });

  it("manages reactor formulas and reactors made from them", async () => {
    const formula = await client.reactorFormulas.create({
      name: "Greeter",
      type: "private",
      code: "module.exports = async ({ args, configuration }) => ({ raw: [configuration.GREETING, args.name].join(' ') });",
      configuration: [{ name: "GREETING", type: "string" }],
      requestParameters: [{ name: "name", type: "string" }],
    });
    expect(formula).toMatchObject({ name: "Greeter", requestParameters: [{ name: "name", type: "string" }] });
    const listed = await client.reactorFormulas.list({ name: "Greet*" });
    expect(listed.data.map(({ id }) => id)).toEqual([formula.id]);
    const model = { name: "Hello", configuration: { GREETING: "Hello" }, formula: { id: formula.id } };
    const reactor = await client.reactors.create(model);
    await expect(client.reactors.retrieve(reactor.id)).resolves.toMatchObject({ formula: { id: formula.id } });
    const { id: name } = await backEnd.tokens.create({ type: "token", data: "Ada" });
    const reply = await backEnd.reactors.react(reactor.id, { args: { name: `{{ ${name} }}` } });
    expect(reply).toMatchObject({ raw: "Hello Ada" });
    expect(await thrownBy(backEnd.reactors.react(reactor.id, { args: {} }))).toMatchObject({ status: 400 });
    await client.reactors.patch(reactor.id, { configuration: { GREETING: "Bye" } });
    await expect(backEnd.reactors.react(reactor.id, { args: { name: "Bob" } })).resolves.toMatchObject({
      raw: "Bye Bob",
    });
    await client.reactors.delete(reactor.id);
    await client.reactorFormulas.delete(formula.id);
    expect(await thrownBy(client.reactorFormulas.retrieve(formula.id))).toMatchObject({ status: 404 });
  });
});
