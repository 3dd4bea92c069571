import { beforeAll, describe, expect, it } from "vitest";
import { newTenant, type TestTenant } from "../../support/tenant.js";

/** The names that the published clients use. */
const SPECIFIED = [
  ...["token:create", "token:read", "token:update", "token:delete", "token:use"],
  ...["proxy:create", "proxy:read", "proxy:update", "proxy:delete"],
  ...["tenant:read", "tenant:update", "tenant:delete", "tenant:member:read", "tenant:member:delete"],
  ...["tenant:invitation:create", "tenant:invitation:read", "tenant:invitation:update", "tenant:invitation:delete"],
  ...["application:create", "application:read", "application:delete", "report:read", "log:read"],
  ...["reactor:create", "reactor:read", "reactor:update", "reactor:delete"],
  ...["orchestration:connections:create", "orchestration:connections:update", "orchestration:connections:delete"],
  "orchestration:transaction:capture",
  ...["webhooks:create", "webhooks:read", "webhooks:update", "webhooks:delete"],
];

interface Permission {
  readonly type: string;
  readonly description: string;
  readonly application_types: readonly string[];
}

describe("permissions", () => {
  let tenant: TestTenant;
  beforeAll(async () => {
    tenant = await newTenant();
  });
  const list = async (query = ""): Promise<Permission[]> => {
    const { status, body } = await tenant.manage("GET", `/permissions${query}`);
    expect(status).toBe(200);
    return body;
  };

  it("are a bare list that describes every specified one", async () => {
    const all = await list();
    expect(all.map(({ type }) => type)).toEqual(expect.arrayContaining(SPECIFIED));
    for (const { type, description, application_types } of all) {
      expect(type).toMatch(/^[a-z0-9_]+(:[a-z0-9_]+){1,3}$/);
      expect(description).not.toBe("");
      expect(application_types.length).toBeGreaterThan(0);
    }
  });

  it.each(["private", "public", "management"])("are those that a %s application can be given", async (type) => {
    const all = await list();
    const ofType = await list(`?application_type=${type}`);
    expect(ofType).toEqual(all.filter(({ application_types }) => application_types.includes(type)));
    const permissions = ofType.map((permission) => permission.type);
    const made = await tenant.manage("POST", "/applications", { body: { name: "All", type, permissions } });
    expect(made).toMatchObject({ status: 201, body: { permissions } });
    const others = all.map((permission) => permission.type).filter((permission) => !permissions.includes(permission));
    const refused = await tenant.manage("POST", "/applications", {
      body: { name: "None", type, permissions: others },
    });
    expect(refused.status).toBe(400);
    expect(Object.keys(refused.body.errors)).toHaveLength(others.length);
  });

  it("are rejected for an unknown type", async () => {
    const { status, body } = await tenant.manage("GET", "/permissions?application_type=admin");
    expect({ status, fields: Object.keys(body.errors) }).toEqual({ status: 400, fields: ["application_type"] });
  });

  it("can be read with any key, but not without one", async () => {
    const page = await tenant.application({ type: "public", permissions: ["token:create"] });
    expect(await page("GET", "/permissions")).toMatchObject({ status: 200 });
    expect(await tenant.manage("GET", "/permissions", { key: undefined })).toMatchObject({ status: 401 });
  });

  it.each([
    ["GET", "/applications", "application:read"],
    ["POST", "/applications", "application:create"],
    ["GET", "/applications/{id}", "application:read"],
    ["PUT", "/applications/{id}", "application:update"],
    ["DELETE", "/applications/{id}", "application:delete"],
    ["POST", "/applications/{id}/keys", "application:create"],
    ["GET", "/applications/{id}/keys", "application:read"],
    ["GET", "/applications/{id}/keys/{id}", "application:read"],
    ["DELETE", "/applications/{id}/keys/{id}", "application:delete"],
    ["GET", "/tenants/self", "tenant:read"],
    ["PUT", "/tenants/self", "tenant:update"],
    ["GET", "/logs", "log:read"],
    ["GET", "/logs/entity-types", "log:read"],
    ["POST", "/tokens", "token:create"],
    ["GET", "/tokens/abc", "token:read"],
    ["DELETE", "/tokens/abc", "token:delete"],
    ["POST", "/tokenize", "token:create"],
    ["POST", "/detokenize", "token:read"],
  ])("decide who may %s %s: callers with %s, and no others", async (method, template, permission) => {
    const path = template.replaceAll("{id}", "01890000-0000-7000-8000-000000000000");
    const type = permission.startsWith("token:") ? "private" : "management";
    const all = (await list(`?application_type=${type}`)).map((one) => one.type);
    const without = await tenant.application({ type, permissions: all.filter((one) => one !== permission) });
    expect(await without(method, path)).toMatchObject({ status: 403, body: { code: "permission_denied" } });
    const holder = await tenant.application({ type, permissions: [permission] });
    expect([200, 201, 400, 404]).toContain((await holder(method, path)).status);
  });
});
