import { beforeAll, describe, expect, it } from "vitest";
import { operationNamed, responseTo, responseValidator } from "../../support/api-description.js";
import type { RestClient, RestResponse } from "../../support/rest.js";
import { newTenant, type TestTenant } from "../../support/tenant.js";

interface Asked {
  readonly path?: Readonly<Record<string, string>>;
  readonly query?: string;
  readonly body?: unknown;
  readonly headers?: Record<string, string>;
}

/** Sends what the document describes, and checks the response against what it promises for the status. */
async function ask(client: RestClient, id: string, { path = {}, query = "", body, headers = {} }: Asked = {}) {
  const placed = operationNamed(id);
  const url = placed.path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(path[name] ?? ""));
  const [mediaType] = Object.keys(placed.operation.requestBody?.content ?? {});
  const response = await client(placed.verb, `${url}${query}`, {
    headers: { ...(mediaType ? { "Content-Type": mediaType } : {}), ...headers },
    ...(body === undefined ? {} : { body }),
  });
  expect(responseTo(placed, response.status), `${id} returned ${response.status}`).toBeDefined();
  expectAsDescribed(id, response);
  return response;
}

function expectAsDescribed(id: string, { status, headers, body }: RestResponse): void {
  const placed = operationNamed(id);
  const response = responseTo(placed, status);
  const trace = headers.get("bt-trace-id");
  expect(trace, `${id} names its trace`).toBeTruthy();
  if (!response?.content && !response?.$ref) {
    expect(body, `${id} ${status} has no body`).toBe("");
    return;
  }
  expect(headers.get("content-type"), `${id} ${status}`).toMatch(/^application\/json(;|$)/);
  const validate = responseValidator(placed, status);
  validate(body);
  expect(validate.errors ?? [], `${id} ${status}: ${JSON.stringify(body)}`).toEqual([]);
}

/** The example requests of an operation. */
function examplesOf(id: string): [string, unknown][] {
  const content = operationNamed(id).operation.requestBody?.content["application/json"];
  return Object.entries(content?.examples ?? {}).map(([name, { value }]) => [name, value]);
}

describe("responses match the document", () => {
  let tenant: TestTenant;
  let backEnd: RestClient & { readonly key: string; readonly id: string };
  let clerk: RestClient;
  const card = { type: "card", data: { number: "4242424242424242", expiration_month: 12, expiration_year: 2030 } };

  beforeAll(async () => {
    tenant = await newTenant();
    backEnd = await tenant.backEnd();
    clerk = await tenant.application({ type: "private", permissions: ["token:read", "token:search"] });
  });

  it("for tokens, in the clear and masked, full and bare", async () => {
    const created = await ask(backEnd, "createToken", {
      body: {
        ...card,
        metadata: { customer: "c-1" },
        search_indexes: ["{{ data.number | last4 }}"],
        containers: ["/pci/high/"],
        expires_at: "2090-01-01T00:00:00+02:00",
        deduplicate_token: true,
      },
    });
    const again = await ask(backEnd, "createToken", { body: { ...card, deduplicate_token: true } });
    expect([created.status, again.status]).toEqual([201, 201]);
    const path = { id: created.body.id };
    expect((await ask(backEnd, "getToken", { path })).body.data).toEqual(card.data);
    expect((await ask(clerk, "getToken", { path })).body.data.number).toBe("XXXXXXXXXXXX4242");
    await ask(backEnd, "createToken", { body: { type: "token", data: [1, null, { key: "text" }] } });
    await ask(backEnd, "createToken", {
      body: { type: "bank", data: { routing_number: "021000021", account_number: "00012345678" } },
    });
    const patched = await ask(backEnd, "updateToken", { path, body: { metadata: { customer: null, other: "x" } } });
    expect(patched).toMatchObject({ status: 200, body: { metadata: { other: "x" } } });
    expect((await ask(backEnd, "deleteToken", { path })).status).toBe(204);
  });

  it("for lists and searches of tokens, by page and by cursor", async () => {
    await ask(backEnd, "createToken", { body: { ...card, metadata: { list: "yes" } } });
    await ask(backEnd, "createToken", { body: { ...card, metadata: { list: "yes" } } });
    for (const query of ["?metadata[list]=yes", "?metadata.list=yes", '?metadata={"list":"yes"}']) {
      const listed = await ask(backEnd, "listTokens", { query: encodeURI(query) });
      expect(listed, query).toMatchObject({ status: 200, body: { pagination: { total_items: 2 } } });
    }
    const first = await ask(backEnd, "listTokensByCursor", { query: "?size=1" });
    expect(first.body.pagination.after).toBe(first.body.pagination.next);
    await ask(backEnd, "listTokensByCursor", { query: `?size=1&start=${first.body.pagination.next}` });
    expect((await ask(clerk, "searchTokens", { body: {} })).status).toBe(200);
    expect((await ask(clerk, "searchTokensByCursor", { body: { size: 1 } })).status).toBe(200);
  });

  it("for values replaced by tokens and back", async () => {
    const tokenized = await ask(backEnd, "tokenize", { body: { card, plain: ["one", 2, null] } });
    expect(tokenized.status).toBe(200);
    const detokenized = await ask(backEnd, "detokenize", { body: { plain: `{{ ${tokenized.body.plain[0]} }}` } });
    expect(detokenized).toMatchObject({ status: 200, body: { plain: "one" } });
  });

  it("for applications, their keys and permissions", async () => {
    const { manage } = tenant;
    const rule = { priority: 1, container: "/pci/", transform: "mask", permissions: ["token:read"] };
    const created = await ask(manage, "createApplication", { body: { name: "One", type: "private", rules: [rule] } });
    expect(created.body.key).toMatch(/^key_/);
    const path = { id: created.body.id };
    await ask(manage, "getApplication", { path });
    await ask(manage, "listApplications", { query: "?type=private&type=public&size=2" });
    const changed = { name: "Two", permissions: ["token:read"] };
    expect(await ask(manage, "updateApplication", { path, body: changed })).toMatchObject({
      status: 200,
      body: changed,
    });
    expect((await ask(backEnd, "getApplicationByKey")).body.id).toBe(backEnd.id);
    expect((await ask(manage, "regenerateApplicationKey", { path })).body.key).toMatch(/^key_/);
    const key = await ask(manage, "createApplicationKey", { path });
    const keyPath = { ...path, key_id: key.body.id };
    expect((await ask(manage, "getApplicationKey", { path: keyPath })).body.key).toBeUndefined();
    expect((await ask(manage, "listApplicationKeys", { path })).body.data).toHaveLength(2);
    expect((await ask(manage, "deleteApplicationKey", { path: keyPath })).status).toBe(204);
    expect((await ask(manage, "deleteApplication", { path })).status).toBe(204);
    expect((await ask(manage, "listPermissions", { query: "?application_type=public" })).body.length).toBeGreaterThan(
      0,
    );
  });

  it("for sessions, the tenant and its log", async () => {
    const page = await tenant.application({ type: "public", permissions: ["token:create"] });
    const { body: session } = await ask(page, "createSession");
    const body = { nonce: session.nonce, permissions: ["token:read"] };
    expect((await ask(backEnd, "authorizeSession", { body })).status).toBe(200);
    const name = "Renamed";
    await ask(tenant.manage, "updateTenant", { body: { name, settings: { fingerprint_tokens: "true" } } });
    expect((await ask(tenant.manage, "getTenant")).body.name).toBe(name);
    await ask(tenant.manage, "getUsageReport");
    expect((await ask(tenant.manage, "listLogs", { query: "?size=5" })).body.data).toHaveLength(5);
    await ask(tenant.manage, "listLogs", { query: "?page=2&size=3" });
    expect((await ask(tenant.manage, "listLogEntityTypes")).body.length).toBeGreaterThan(0);
  });

  it("for refusals of every kind", async () => {
    const unknown = { id: "01980f70-1a2b-7c4d-9e5f-60718293a4b5" };
    const cases: [number, Promise<RestResponse>][] = [
      [400, ask(backEnd, "createToken", { body: { type: "card", data: { number: "1" } } })],
      [400, ask(tenant.manage, "getApplication", { path: { id: "none" } })],
      [400, ask(backEnd, "listTokens", { query: "?size=1000&page=x" })],
      [400, ask(backEnd, "createToken", { body: card, headers: { "BT-IDEMPOTENCY-KEY": "x".repeat(256) } })],
      [401, ask(backEnd, "getToken", { path: unknown, headers: { "BT-API-KEY": "none" } })],
      [403, ask(clerk, "createToken", { body: card })],
      [403, ask(backEnd, "createSession")],
      [404, ask(backEnd, "getToken", { path: unknown })],
      [413, ask(backEnd, "tokenize", { body: "x".repeat(6 * 1024 * 1024) })],
      [415, ask(backEnd, "updateToken", { path: unknown, body: {}, headers: { "Content-Type": "application/json" } })],
      [415, ask(backEnd, "createToken", { body: card, headers: { "Content-Type": "text/plain" } })],
    ];
    for (const [status, asked] of cases) {
      const response = await asked;
      expect([response.status, response.body.status]).toEqual([status, status]);
      const challenge = response.headers.get("www-authenticate");
      expect(challenge).toBe(status === 401 ? 'ApiKey header="BT-API-KEY"' : null);
    }
    await ask(backEnd, "createToken", { body: { ...card, id: "only-once" } });
    const twice = await ask(backEnd, "createToken", { body: { ...card, id: "only-once" } });
    expect(twice).toMatchObject({ status: 409, body: { code: "already_exists" } });
  });

  it("for a proxy that cannot be called", async () => {
    const errors = [
      await ask(backEnd, "proxyPost", { headers: { "BT-PROXY-KEY": "none" } }),
      await ask(backEnd, "proxyGetPath", { path: { path: "a" }, headers: { "BT-PROXY-URL": "http://127.0.0.1:1/" } }),
      await ask(backEnd, "proxyDelete"),
    ];
    for (const { status, body } of errors) expect(body.proxy_error.status).toBe(status);
  });

  it.each(["createToken", "tokenize", "searchTokens"])("for the examples of %s", async (id) => {
    const examples = examplesOf(id);
    expect(examples.length).toBeGreaterThan(0);
    for (const [name, body] of examples) expect((await ask(backEnd, id, { body })).status, name).toBeLessThan(300);
  });

  it("for the examples of createApplication", async () => {
    const examples = examplesOf("createApplication");
    expect(examples.length).toBeGreaterThan(0);
    for (const [name, body] of examples) {
      expect((await ask(tenant.manage, "createApplication", { body })).status, name).toBe(201);
    }
  });
});
