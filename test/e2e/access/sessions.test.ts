import { beforeAll, describe, expect, it } from "vitest";
import type { RestClient } from "../../support/rest.js";
import { newTenant, type TestTenant } from "../../support/tenant.js";

const TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/;
const READ = { permissions: ["token:read"] };

describe("sessions", () => {
  let tenant: TestTenant;
  let backEnd: RestClient & { readonly key: string; readonly id: string };
  let page: RestClient & { readonly key: string; readonly id: string };
  let token: string;
  beforeAll(async () => {
    tenant = await newTenant();
    backEnd = await tenant.backEnd();
    page = await tenant.application({ type: "public", permissions: ["token:create"] });
    const body = { type: "token", data: "x", mask: "***", containers: ["/a/b/"] };
    token = (await backEnd("POST", "/tokens", { body })).body.id;
  });
  const open = async () => (await page("POST", "/sessions")).body;
  const authorize = (nonce: unknown, rights: object, client: RestClient = backEnd) =>
    client("POST", "/sessions/authorize", { body: { nonce, ...rights } });
  const read = (key: string, id = token) => page("GET", `/tokens/${id}`, { key });

  it("begin with a key, a nonce, and three minutes", async () => {
    const sentAt = Date.now();
    const { status, body } = await page("POST", "/sessions");
    expect({ status, body }).toEqual({
      status: 201,
      body: {
        session_key: expect.stringMatching(/^key_[a-z]+_ses_/),
        nonce: expect.any(String),
        expires_at: expect.stringMatching(TIME),
      },
    });
    const openedAt = Date.parse(body.expires_at) - 180_000;
    expect(openedAt).toBeGreaterThanOrEqual(sentAt);
    expect(openedAt).toBeLessThanOrEqual(Date.now());
  });

  it("may do nothing before they are authorized, and then what they were granted", async () => {
    const { session_key, nonce } = await open();
    expect(await read(session_key)).toMatchObject({ status: 403 });
    expect(await page("POST", "/tokens", { key: session_key, body: { type: "token", data: "y" } })).toMatchObject({
      status: 403,
    });
    const { status, body } = await authorize(nonce, READ);
    expect({ status, body }).toEqual({ status: 200, body: "" });
    expect(await read(session_key)).toMatchObject({ status: 200, body: { data: "***" } });
    expect(await page("DELETE", `/tokens/${token}`, { key: session_key })).toMatchObject({ status: 403 });
    expect(await page("POST", "/sessions", { key: session_key })).toMatchObject({ status: 403 });
    expect(await page("POST", "/sessions/authorize", { key: session_key, body: { nonce, ...READ } })).toMatchObject({
      status: 403,
    });
  });

  it("see nothing before they are authorized, not even their application, and leave a row that says so", async () => {
    const { session_key, nonce } = await open();
    for (const path of ["/applications/key", "/permissions"]) {
      const refused = await page("GET", path, { key: session_key });
      expect(refused).toMatchObject({ status: 403, body: { code: "permission_denied" } });
    }
    const { body: log } = await tenant.manage("GET", "/logs?entity_type=session&size=3");
    const operations = log.data.map((row: { operation: string; actor_id: string }) => [row.operation, row.actor_id]);
    expect(operations).toEqual([
      ["refuse", page.id],
      ["refuse", page.id],
      ["create", page.id],
    ]);
    expect(await authorize(nonce, READ)).toMatchObject({ status: 200 });
    expect(await page("GET", "/applications/key", { key: session_key })).toMatchObject({ body: { id: page.id } });
    expect(await page("GET", "/permissions", { key: session_key })).toMatchObject({ status: 200 });
  });

  it("are authorized once, even if many try concurrently", async () => {
    const { session_key, nonce } = await open();
    const responses = await Promise.all(Array.from({ length: 20 }, () => authorize(nonce, READ)));
    expect(responses.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(responses.filter(({ status, body }) => status === 409 && body.code === "conflict")).toHaveLength(19);
    expect(await authorize(nonce, { permissions: ["token:delete"] })).toMatchObject({ status: 409 });
    expect(await read(session_key)).toMatchObject({ status: 200 });
    expect(await page("DELETE", `/tokens/${token}`, { key: session_key })).toMatchObject({ status: 403 });
  });

  it.each([
    ["neither permissions nor rules", {}, "permissions"],
    ["both empty", { permissions: [], rules: [] }, "permissions"],
    ["an unknown permission", { permissions: ["token:fly"] }, "permissions[0]"],
    ["a permission that is not about tokens", { permissions: ["tenant:read"] }, "permissions[0]"],
    [
      "a rule with a container and conditions",
      {
        rules: [
          {
            priority: 1,
            container: "/a/",
            conditions: [{ attribute: "id", operator: "equals", value: "x" }],
            transform: "mask",
            permissions: ["token:read"],
          },
        ],
      },
      "rules[0].conditions",
    ],
    [
      "a condition on another attribute",
      {
        rules: [
          {
            priority: 1,
            conditions: [{ attribute: "type", operator: "equals", value: "card" }],
            transform: "mask",
            permissions: ["token:read"],
          },
        ],
      },
      "rules[0].conditions[0].attribute",
    ],
    ["an expiry that is over", { ...READ, expires_at: "2020-01-01T00:00:00Z" }, "expires_at"],
    ["an invalid expiry", { ...READ, expires_at: "soon" }, "expires_at"],
  ])("are not authorized with %s, and the nonce stays valid", async (_, rights, field) => {
    const { session_key, nonce } = await open();
    const { status, body } = await authorize(nonce, rights);
    expect({ status, fields: Object.keys(body.errors ?? {}) }).toEqual({ status: 400, fields: [field] });
    expect(await read(session_key)).toMatchObject({ status: 403 });
    expect(await authorize(nonce, READ)).toMatchObject({ status: 200 });
  });

  it("are not authorized with a nonce that is missing, unknown or another tenant's", async () => {
    expect(await authorize(undefined, READ)).toMatchObject({ status: 400 });
    expect(await authorize("unknown", READ)).toMatchObject({ status: 404 });
    const outsider = await (await newTenant()).backEnd();
    expect(await authorize((await open()).nonce, READ, outsider)).toMatchObject({ status: 404 });
  });

  it("are created with public keys and authorized with private ones", async () => {
    expect(await backEnd("POST", "/sessions")).toMatchObject({ status: 403, body: { code: "permission_denied" } });
    expect(await tenant.manage("POST", "/sessions")).toMatchObject({ status: 403 });
    const { nonce } = await open();
    expect(await authorize(nonce, READ, page)).toMatchObject({ status: 403 });
    expect(await authorize(nonce, READ, tenant.manage)).toMatchObject({ status: 403 });
    expect(await authorize(nonce, READ)).toMatchObject({ status: 200 });
  });

  it.each([
    ["id equals", { attribute: "id", operator: "equals", value: "session-1" }, [true, false, false]],
    ["id starts_with", { attribute: "id", operator: "starts_with", value: "session-" }, [true, true, false]],
    ["container equals", { attribute: "container", operator: "equals", value: "/S/one/" }, [true, false, false]],
    ["container starts_with", { attribute: "container", operator: "starts_with", value: "/s/" }, [true, true, false]],
  ])("are limited by the conditions of a rule: %s", async (_, condition, reached) => {
    const places = ["/s/one/", "/s/two/", "/other/"];
    const ids = ["session-1", "session-2", "elsewhere"];
    for (const [index, id] of ids.entries()) {
      const body = { id, type: "token", data: id, containers: [places[index]] };
      expect([201, 409]).toContain((await backEnd("POST", "/tokens", { body })).status);
    }
    const { session_key, nonce } = await open();
    const rules = [
      { priority: 1, conditions: [condition], transform: "reveal", permissions: ["token:read", "token:search"] },
    ];
    expect(await authorize(nonce, { rules })).toMatchObject({ status: 200 });
    const outcomes = await Promise.all(ids.map(async (id) => (await read(session_key, id)).status === 200));
    expect(outcomes).toEqual(reached);
    for (const list of [
      page("GET", "/tokens", { key: session_key }),
      page("GET", "/v2/tokens", { key: session_key }),
    ]) {
      const { body } = await list;
      const shown = body.data.map(({ id }: { id: string }) => id);
      expect(shown.toSorted()).toEqual(ids.filter((_id, index) => reached[index]).toSorted());
    }
  });

  it("list and count what meets all conditions of a rule, also several about containers", async () => {
    const place = (containers: string[]) =>
      backEnd("POST", "/tokens", { body: { type: "token", data: "x", containers, metadata: { several: "yes" } } });
    const { id } = (await place(["/c/one/", "/c/two/"])).body;
    await place(["/c/one/"]);
    await place(["/c/two/"]);
    const { session_key: key, nonce } = await open();
    const conditions = ["/c/one/", "/c/two/"].map((value) => ({ attribute: "container", operator: "equals", value }));
    const rules = [{ priority: 1, conditions, transform: "reveal", permissions: ["token:read"] }];
    expect(await authorize(nonce, { rules })).toMatchObject({ status: 200 });
    for (const query of ["", "?metadata.several=yes"]) {
      const { body } = await page("GET", `/tokens${query}`, { key });
      expect(body).toMatchObject({ pagination: { total_items: 1 }, data: [{ id }] });
    }
  });

  it("list and count the tokens that their conditions name, and those only if the filter matches", async () => {
    const named = ["named-1", "named-2", "named-3"];
    for (const id of named) {
      const body = { id, type: "token", data: id, metadata: { odd: String(id !== "named-2") } };
      expect((await backEnd("POST", "/tokens", { body })).status).toBe(201);
    }
    const { session_key: key, nonce } = await open();
    const condition = (value: string) => [{ attribute: "id", operator: "equals", value }];
    const rules = ["named-1", "named-2", "missing"].map((value, index) => ({
      ...{ priority: index + 1, conditions: condition(value), transform: "reveal", permissions: ["token:read"] },
    }));
    expect(await authorize(nonce, { rules })).toMatchObject({ status: 200 });
    const list = async (query: string) => (await page("GET", query, { key })).body;
    const [one, two] = [{ id: "named-1" }, { id: "named-2" }];
    expect(await list("/tokens")).toMatchObject({ pagination: { total_items: 2 }, data: [two, one] });
    expect(await list("/tokens?size=1&page=2")).toMatchObject({ pagination: { total_items: 2 }, data: [one] });
    expect(await list("/tokens?metadata.odd=true")).toMatchObject({ pagination: { total_items: 1 }, data: [one] });
    expect((await list("/v2/tokens?type=card")).data).toEqual([]);
    const first = await list("/v2/tokens?size=1");
    expect(first.data).toMatchObject([two]);
    expect((await list(`/v2/tokens?size=1&start=${first.pagination.next}`)).data).toMatchObject([one]);
  });

  it("create and tokenize with the ids that their conditions name, also if an expression produces them", async () => {
    const { session_key: key, nonce } = await open();
    const conditions = [{ attribute: "id", operator: "starts_with", value: "of-page-" }];
    const rules = [{ priority: 1, conditions, transform: "mask", permissions: ["token:create"] }];
    expect(await authorize(nonce, { rules })).toMatchObject({ status: 200 });
    const token = (id: string) => ({ id, type: "token", data: "12345" });
    for (const path of ["/tokens", "/tokenize"]) {
      const made = await page("POST", path, { key, body: token("of-page-{{ data | alias_preserve_length }}") });
      expect(made.body.id).toMatch(/^of-page-.{5}$/);
      expect(await page("POST", path, { key, body: token("of-{{ data | alias_preserve_length }}") })).toMatchObject({
        status: 403,
      });
    }
  });

  it("get no more permissions than their authorizer has", async () => {
    const rules = [{ priority: 1, container: "/a/", transform: "mask", permissions: ["token:read"] }];
    const clerk = await tenant.application({ type: "private", rules });
    const rule = (container: string, transform: string, permission = "token:read") => ({
      rules: [{ priority: 1, container, transform, permissions: [permission] }],
    });
    const { session_key, nonce } = await open();
    for (const rights of [READ, rule("/", "mask"), rule("/a/", "reveal"), rule("/a/", "mask", "token:delete")]) {
      expect(await authorize(nonce, rights, clerk)).toMatchObject({ status: 403 });
    }
    expect(await read(session_key)).toMatchObject({ status: 403 });
    expect(await authorize(nonce, rule("/a/b/", "mask"), clerk)).toMatchObject({ status: 200 });
    expect(await read(session_key)).toMatchObject({ status: 200, body: { data: "***" } });
    await tenant.manage("PUT", `/applications/${clerk.id}`, {
      body: { name: "Clerk", rules: [{ ...rules[0], container: "/elsewhere/" }] },
    });
    expect(await read(session_key)).toMatchObject({ status: 403 });
  });

  it("are rejected with all permissions that go too far, and not just the first", async () => {
    const rules = [{ priority: 1, container: "/a/", transform: "mask", permissions: ["token:read", "token:search"] }];
    const clerk = await tenant.application({ type: "private", permissions: ["token:create"], rules });
    const inA = (...permissions: string[]) => ({ container: "/a/", transform: "mask", permissions });
    const { nonce } = await open();
    for (const rights of [
      { permissions: ["token:create", "token:delete"] },
      { rules: [{ priority: 1, ...inA("token:search", "token:delete", "token:update") }] },
      { permissions: ["token:create"], rules: [{ priority: 1, ...inA("token:read", "token:delete") }] },
    ]) {
      const { status, body } = await authorize(nonce, rights, clerk);
      expect({ status, detail: body.detail }).toEqual({ status: 403, detail: expect.stringContaining("token:delete") });
    }
  });

  it("list and count no more than their authorizer may see now", async () => {
    const rulesOn = (container: string) => [
      { priority: 1, container, transform: "mask", permissions: ["token:read", "token:search"] },
    ];
    for (const container of ["/wide/", "/wide/narrow/", "/wide/other/"]) {
      const body = { type: "token", data: container, containers: [container], metadata: { narrowed: "1" } };
      await backEnd("POST", "/tokens", { body });
    }
    const clerk = await tenant.application({ type: "private", rules: rulesOn("/wide/") });
    const { session_key: key, nonce } = await open();
    expect(await authorize(nonce, { rules: rulesOn("/wide/") }, clerk)).toMatchObject({ status: 200 });
    const listed = async (path: string) => {
      const { body } = await page("GET", path, { key });
      return [body.pagination.total_items, ...body.data.map((token: { containers: string[] }) => token.containers[0])];
    };
    const paths = ["/tokens", "/tokens?metadata.narrowed=1", "/v2/tokens"];
    for (const path of paths) expect((await listed(path)).slice(1).toSorted()).toHaveLength(3);
    const narrower = { name: "Clerk", rules: rulesOn("/wide/narrow/") };
    await tenant.manage("PUT", `/applications/${clerk.id}`, { body: narrower });
    expect(await Promise.all(paths.map(listed))).toEqual([
      [1, "/wide/narrow/"],
      [1, "/wide/narrow/"],
      [undefined, "/wide/narrow/"],
    ]);
    expect(await page("GET", "/v2/tokens?container=/wide/other/", { key })).toMatchObject({ status: 403 });
  });

  it("are logged as their public application", async () => {
    const { session_key, nonce } = await open();
    await authorize(nonce, READ);
    const { body: made } = await backEnd("POST", "/tokens", { body: { type: "token", data: "logged" } });
    await read(session_key, made.id);
    const { body } = await tenant.manage("GET", `/logs?entity_id=${made.id}`);
    expect(body.data[0]).toMatchObject({ operation: "read", actor_id: page.id, actor_type: "application" });
  });
});
