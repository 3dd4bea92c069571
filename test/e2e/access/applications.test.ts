import { beforeAll, describe, expect, it } from "vitest";
import { newTenant, type TestTenant } from "../../support/tenant.js";

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/;
const rule = { priority: 1, container: "/pci/", transform: "mask", permissions: ["token:read"] };

describe("applications", () => {
  let tenant: TestTenant;
  let managerId: string;
  beforeAll(async () => {
    tenant = await newTenant();
    managerId = (await tenant.manage("GET", "/applications/key")).body.id;
  });
  const create = (definition: object) =>
    tenant.manage("POST", "/applications", { body: { name: "App", ...definition } });
  const refusal = async (definition: object, method = "POST", path = "/applications") => {
    const { status, body } = await tenant.manage(method, path, { body: { name: "App", ...definition } });
    return { status, code: body.code, fields: Object.keys(body.errors ?? {}) };
  };
  const refused = (...fields: string[]) => ({ status: 400, code: "validation_failed", fields });

  it("are found by a part of their names, in pages, and sorted by name", async () => {
    const own = await newTenant();
    const names = ["checkout 10", "Checkout 2", "Ledger", "שלום", "😀 emoji", "x".repeat(200)];
    for (const name of names) {
      const body = { name, type: "private", permissions: ["token:create"] };
      const { status } = await own.manage("POST", "/applications", { body });
      expect(status).toBe(201);
    }
    const list = async (query: string) => {
      const { body } = await own.manage("GET", `/applications?${query}`);
      return { names: body.data.map(({ name }: { name: string }) => name), total: body.pagination.total_items };
    };
    expect(await list("name=CHECK")).toEqual({ names: ["Checkout 2", "checkout 10"], total: 2 });
    expect(await list("name=check&sort=name")).toEqual({ names: ["Checkout 2", "checkout 10"], total: 2 });
    expect(await list(`name=${encodeURIComponent("😀*")}`)).toEqual({ names: ["😀 emoji"], total: 1 });
    expect(await list("name=check*2")).toEqual({ names: ["Checkout 2"], total: 1 });
    expect(await list("name=none")).toEqual({ names: [], total: 0 });
    expect(await list("name=check&type=public")).toEqual({ names: [], total: 0 });
    const sorted = await list("sort=name&size=100");
    expect(sorted.names).toEqual(sorted.names.toSorted(new Intl.Collator("en", { numeric: true }).compare));
    expect(sorted.total).toBe(names.length + 1);
    const pages = [await list("sort=name&size=3"), await list("sort=name&size=3&page=2")];
    expect(pages.flatMap((page) => page.names)).toEqual(sorted.names.slice(0, 6));
    const ledger = (await own.manage("GET", "/applications?name=ledger")).body.data[0];
    await own.manage("PUT", `/applications/${ledger.id}`, { body: { name: "Renamed", permissions: ["token:create"] } });
    expect(await list("name=renam")).toEqual({ names: ["Renamed"], total: 1 });
    expect(await list("name=ledger")).toEqual({ names: [], total: 0 });
    expect((await own.manage("GET", "/applications?sort=size")).status).toBe(400);
  });

  it("are created with all their fields and one key", async () => {
    const rules = [{ ...rule, description: "Cards" }];
    const { status, body } = await create({ name: "Back end", type: "private", permissions: ["token:create"], rules });
    expect(status).toBe(201);
    expect(body).toEqual({
      ...{ id: expect.stringMatching(UUID), tenant_id: tenant.id, name: "Back end", type: "private" },
      ...{ permissions: ["token:create"], rules, key: expect.stringMatching(/^key_/) },
      keys: [
        {
          id: expect.stringMatching(UUID),
          tenant_id: tenant.id,
          created_by: managerId,
          created_at: expect.stringMatching(TIME),
        },
      ],
      created_by: managerId,
      created_at: expect.stringMatching(TIME),
    });
  });

  it("are created without a key on request", async () => {
    const { status, body } = await create({ type: "private", permissions: ["token:create"], create_key: false });
    expect(status).toBe(201);
    expect(body).not.toHaveProperty("key");
    expect(body.keys).toEqual([]);
  });

  it("show the key once: not when they are read, listed or changed", async () => {
    const created = await create({ type: "private", permissions: ["token:read"] });
    const { id, key } = created.body;
    const responses = [
      await tenant.manage("GET", `/applications/${id}`),
      await tenant.manage("GET", `/applications?id=${id}`),
      await tenant.manage("GET", "/applications/key", { key }),
      await tenant.manage("PUT", `/applications/${id}`, { body: { name: "Renamed", permissions: ["token:read"] } }),
    ];
    for (const { status, body } of responses) {
      expect(status).toBe(200);
      expect(JSON.stringify(body)).not.toContain(key);
      expect(JSON.stringify(body)).not.toContain('"key"');
    }
  });

  it("are read by id, in upper or lower case", async () => {
    const { body: created } = await create({ type: "public", permissions: ["token:create"] });
    const { key: _, ...shown } = created;
    expect((await tenant.manage("GET", `/applications/${created.id}`)).body).toEqual(shown);
    expect((await tenant.manage("GET", `/applications/${created.id.toUpperCase()}`)).body).toEqual(shown);
  });

  it("can be read with any key of theirs, whatever its permissions", async () => {
    const page = await tenant.application({ type: "public", permissions: ["token:create"] });
    expect(await page("GET", "/applications/key")).toMatchObject({
      status: 200,
      body: { id: page.id, type: "public" },
    });
    expect(await page("GET", `/applications/${page.id}`)).toMatchObject({ status: 403 });
  });

  it("are replaced as a whole, except for their type", async () => {
    const { body: created } = await create({
      type: "private",
      permissions: ["token:read", "token:create"],
      rules: [rule],
    });
    const rules = [{ ...rule, priority: 7, container: "/bank/" }];
    const changed = await tenant.manage("PUT", `/applications/${created.id}`, {
      body: { name: "New name", type: "public", rules },
    });
    expect(changed.status).toBe(200);
    expect(changed.body).toMatchObject({ name: "New name", type: "private", permissions: [], rules });
    expect(changed.body).toMatchObject({ modified_by: managerId, modified_at: expect.stringMatching(TIME) });
    expect((await tenant.manage("GET", `/applications/${created.id}`)).body).toEqual(changed.body);
  });

  it("show their rules by priority, and containers in lower case", async () => {
    const rules = [3, 1, 2].map((priority) => ({ ...rule, priority, container: `/Rule-${priority}/A_b/` }));
    const { status, body } = await create({ type: "private", rules });
    expect(status).toBe(201);
    expect(body.rules.map(({ container }: { container: string }) => container)).toEqual([
      "/rule-1/a_b/",
      "/rule-2/a_b/",
      "/rule-3/a_b/",
    ]);
  });

  it("are gone after they are deleted", async () => {
    const { body } = await create({ type: "private", permissions: ["token:read"] });
    const path = `/applications/${body.id}`;
    expect(await tenant.manage("DELETE", path)).toMatchObject({ status: 204, body: "" });
    for (const [method, suffix] of [
      ["GET", ""],
      ["DELETE", ""],
      ["GET", "/keys"],
      ["POST", "/keys"],
    ] as const) {
      expect(await tenant.manage(method, path + suffix)).toMatchObject({ status: 404, body: { code: "not_found" } });
    }
    const put = { body: { name: "x", permissions: ["token:read"] } };
    expect(await tenant.manage("PUT", path, put)).toMatchObject({ status: 404 });
  });

  it("are invisible to other tenants", async () => {
    const { body } = await create({ type: "private", permissions: ["token:read"] });
    const outsider = await newTenant();
    const path = `/applications/${body.id}`;
    for (const [method, suffix] of [
      ["GET", ""],
      ["DELETE", ""],
      ["GET", "/keys"],
      ["POST", "/keys"],
    ] as const) {
      expect(await outsider.manage(method, path + suffix)).toMatchObject({ status: 404 });
    }
    const listed = await outsider.manage("GET", `/applications?id=${body.id}`);
    expect(listed.body).toMatchObject({ pagination: { total_items: 0 }, data: [] });
    expect(await tenant.manage("GET", path)).toMatchObject({ status: 200 });
  });

  describe("are rejected", () => {
    it.each([
      ["nothing at all", {}, ["type"]],
      ["an unknown type", { type: "admin", permissions: ["token:read"] }, ["type"]],
      ["an empty name", { name: "", type: "private", permissions: ["token:read"] }, ["name"]],
      ["a name of 201 characters", { name: "x".repeat(201), type: "private", permissions: ["token:read"] }, ["name"]],
      ["neither permissions nor rules", { type: "private" }, ["permissions"]],
      ["an unknown permission", { type: "private", permissions: ["token:read", "token:fly"] }, ["permissions[1]"]],
      ["a flag that is a text", { type: "private", permissions: ["token:read"], create_key: "no" }, ["create_key"]],
      ["permissions that are a text", { type: "private", permissions: "token:read" }, ["permissions"]],
      [
        "rules for management",
        { type: "management", permissions: ["log:read"], rules: [rule] },
        ["rules", "rules[0].permissions[0]"],
      ],
      ["a priority of zero", { type: "private", rules: [{ ...rule, priority: 0 }] }, ["rules[0].priority"]],
      ["a broken priority", { type: "private", rules: [{ ...rule, priority: 1.5 }] }, ["rules[0].priority"]],
      [
        "two equal priorities",
        { type: "private", rules: [rule, { ...rule, container: "/b/" }] },
        ["rules[1].priority"],
      ],
      [
        "a container without slashes",
        { type: "private", rules: [{ ...rule, container: "pci" }] },
        ["rules[0].container"],
      ],
      ["an unknown transform", { type: "private", rules: [{ ...rule, transform: "show" }] }, ["rules[0].transform"]],
      [
        "a rule without permissions",
        { type: "private", rules: [{ ...rule, permissions: [] }] },
        ["rules[0].permissions"],
      ],
      [
        "a rule for other things than tokens",
        { type: "private", rules: [{ ...rule, permissions: ["token:read", "log:read"] }] },
        ["rules[0].permissions[1]"],
      ],
      [
        "conditions, which are for sessions",
        {
          type: "private",
          rules: [{ ...rule, container: undefined, conditions: [{ attribute: "id", operator: "equals", value: "x" }] }],
        },
        ["rules[0].conditions"],
      ],
    ])("with %s", async (_, definition, fields) => {
      expect(await refusal(definition)).toEqual(refused(...fields));
    });

    it.each([["transform"], ["container"], ["priority"], ["permissions"]])("with a rule without %s", async (field) => {
      const { [field as keyof typeof rule]: _, ...rest } = rule;
      const response = await refusal({ type: "private", rules: [rest] });
      expect(response.status).toBe(400);
      expect(response.fields).toContain(`rules[0].${field}`);
    });

    it.each([
      ["public", ["token:read", "token:delete", "token:use", "token:search", "log:read"]],
      ["private", ["log:read", "application:create", "tenant:read"]],
      ["management", ["token:create", "token:read", "token:use"]],
    ])("a %s application with permissions that it cannot hold", async (type, permissions) => {
      for (const permission of permissions) {
        expect(await refusal({ type, permissions: [permission] })).toEqual(refused("permissions[0]"));
      }
    });

    it("when replaced by something that could not be created, and stay unchanged", async () => {
      const { body } = await create({ type: "public", permissions: ["token:create"] });
      const path = `/applications/${body.id}`;
      expect(await refusal({ permissions: ["token:read"] }, "PUT", path)).toEqual(refused("permissions[0]"));
      expect(await refusal({}, "PUT", path)).toEqual(refused("permissions"));
      expect(await refusal({ name: "", permissions: ["token:create"] }, "PUT", path)).toEqual(refused("name"));
      expect(await tenant.manage("GET", path)).toMatchObject({ body: { name: "App", permissions: ["token:create"] } });
    });
  });

  it("may hold every permission of their kind, and use it, if their type is management", async () => {
    const listed = await tenant.manage("GET", "/permissions?application_type=management");
    const permissions = listed.body.map(({ type }: { type: string }) => type);
    const manager = await tenant.application({ type: "management", permissions });
    expect(await manager("GET", "/tenants/self")).toMatchObject({ status: 200 });
    expect(await manager("GET", "/logs")).toMatchObject({ status: 200 });
  });
});

describe("the list of applications", () => {
  let tenant: TestTenant;
  const ids: string[] = [];
  beforeAll(async () => {
    tenant = await newTenant();
    for (let index = 0; index < 5; index += 1) {
      const type = index % 2 === 0 ? "private" : "public";
      const { body } = await tenant.manage("POST", "/applications", {
        body: { name: `App ${index}`, type, permissions: ["token:create"] },
      });
      ids.unshift(body.id);
    }
  });
  const list = async (query: string) => {
    const { status, body } = await tenant.manage("GET", `/applications${query}`);
    expect(status).toBe(200);
    return { page: body.pagination, ids: body.data.map(({ id }: { id: string }) => id) };
  };

  it("is newest first, in pages", async () => {
    const all = await list("");
    expect(all.page).toEqual({ total_items: 6, page_number: 1, page_size: 20, total_pages: 1 });
    expect(all.ids.slice(0, 5)).toEqual(ids);
    const second = await list("?page=2&size=4");
    expect(second.page).toEqual({ total_items: 6, page_number: 2, page_size: 4, total_pages: 2 });
    expect(second.ids).toEqual(all.ids.slice(4));
  });

  it.each(["?page=3&size=4", "?page=1000", "?page=2147483647&size=100"])("is empty past its end: %s", async (query) => {
    expect(await list(query)).toMatchObject({ page: { total_items: 6 }, ids: [] });
  });

  it("is filtered by ids and types, each repeatable", async () => {
    expect((await list(`?id=${ids[3]}&id=${ids[1]}`)).ids).toEqual([ids[1], ids[3]]);
    expect((await list("?type=public")).page.total_items).toBe(2);
    expect((await list("?type=public&type=private")).page.total_items).toBe(5);
    expect((await list(`?type=public&id=${ids[0]}`)).ids).toEqual([]);
  });

  it.each([
    ["?page=0", "page"],
    ["?page=-1", "page"],
    ["?page=1.5", "page"],
    ["?page=", "page"],
    ["?page=99999999999", "page"],
    ["?size=0", "size"],
    ["?size=101", "size"],
    ["?size=ten", "size"],
    ["?id=nope", "id[0]"],
  ])("refuses %s", async (query, field) => {
    const { status, body } = await tenant.manage("GET", `/applications${query}`);
    expect({ status, code: body.code, fields: Object.keys(body.errors) }).toEqual({
      status: 400,
      code: "validation_failed",
      fields: [field],
    });
  });

  it("reports the limit", async () => {
    const { body } = await tenant.manage("GET", "/applications?size=101");
    expect(body.errors.size).toEqual([expect.stringContaining("100")]);
  });
});
