import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { RestClient } from "../../support/rest.js";
import { type ServerHere, startServerHere } from "../../support/server-here.js";
import { openStored, type Stored } from "../../support/stored.js";
import { newTenant, type TestTenant } from "../../support/tenant.js";

const MERGE_PATCH = { "Content-Type": "application/merge-patch+json" };

// Of its own: other tests would meet the tables that these lock.
let server: ServerHere;
let tenant: TestTenant;
let backEnd: RestClient;
let stored: Stored;
beforeAll(async () => {
  server = await startServerHere();
  tenant = await newTenant(server.url, server.environment);
  backEnd = await tenant.backEnd();
  stored = await openStored(server.environment);
});
afterAll(async () => {
  await stored?.[Symbol.asyncDispose]();
  await server?.[Symbol.asyncDispose]();
});

async function newToken(data: unknown): Promise<string> {
  const { status, body } = await backEnd("POST", "/tokens", { body: { type: "token", data } });
  expect(status).toBe(201);
  return body.id;
}

describe("a token with 16 writers at a time", () => {
  it("takes every patch, and loses none", async () => {
    const id = await newToken({});
    const statuses = new Map<number, number>();
    const expected: Record<string, number> = {};
    let next = 0;
    const write = async () => {
      while (next < 400) {
        const field = `f${next}`;
        expected[field] = next;
        next += 1;
        const body = { data: { [field]: expected[field] } };
        const { status } = await backEnd("PATCH", `/tokens/${id}`, { body, headers: MERGE_PATCH });
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
      }
    };
    await Promise.all(Array.from({ length: 16 }, write));
    expect(Object.fromEntries(statuses)).toEqual({ 200: 400 });
    expect((await backEnd("GET", `/tokens/${id}`)).body.data).toEqual(expected);
  });

  it("is deleted by one of them, once, and is gone for the others", async () => {
    const id = await newToken("x");
    const responses = await Promise.all(Array.from({ length: 16 }, () => backEnd("DELETE", `/tokens/${id}`)));
    expect(responses.map(({ status }) => status).sort()).toEqual([204, ...Array(15).fill(404)]);
    const { body } = await tenant.manage("GET", `/logs?entity_id=${id}&size=100`);
    expect(body.data.filter(({ operation }: { operation: string }) => operation === "delete")).toHaveLength(1);
  });
});

describe("a lock that others hold for too long", () => {
  it.each([
    ["without", {}],
    ["with", { "bt-idempotency-key": crypto.randomUUID() }],
  ])("is a 503 with Retry-After, %s an idempotency key, and changes nothing", async (_, headers) => {
    const id = await newToken("before");
    const before = await stored.counts(tenant.id);
    const patch = () =>
      backEnd("PATCH", `/tokens/${id}`, { body: { data: "after" }, headers: { ...MERGE_PATCH, ...headers } });
    const create = () => backEnd("POST", "/tokens", { body: { type: "token", data: "x" }, headers });
    const responses = await stored.holding("tokens", () => Promise.all([patch(), create()]));
    for (const { status, body, headers: responseHeaders } of responses) {
      expect({ status, code: body.code }).toEqual({ status: 503, code: "unavailable" });
      expect(responseHeaders.get("retry-after")).toBe("1");
    }
    expect(await stored.counts(tenant.id)).toEqual(before);
    expect((await patch()).status).toBe(200);
  });
});

describe("a lock of all idempotency keys", () => {
  it("is a 503 with Retry-After for a fresh key, and not told as another request with it", async () => {
    const headers = { "bt-idempotency-key": crypto.randomUUID() };
    const create = () => backEnd("POST", "/tokens", { body: { type: "token", data: "x" }, headers });
    const { status, body, headers: responseHeaders } = await stored.holding("idempotency_keys", create);
    expect([status, body.code, responseHeaders.get("retry-after")]).toEqual([503, "unavailable", "1"]);
    expect((await create()).status).toBe(201);
  });
});

describe("a refusal", () => {
  it("leaves one log row and nothing else, in ordinary and in shared transactions", async () => {
    const id = await newToken("x");
    const { body: reader } = await tenant.manage("POST", "/applications", {
      body: {
        ...{ name: "Elsewhere", type: "private" },
        rules: [
          {
            ...{ description: "elsewhere", priority: 1, container: "/elsewhere/", transform: "mask" },
            permissions: ["token:create", "token:read", "token:update", "token:delete"],
          },
        ],
      },
    });
    const calls: [string, string, { body?: object; headers?: Record<string, string> }][] = [
      ["PATCH", `/tokens/${id}`, { body: { data: "y" }, headers: MERGE_PATCH }],
      ["DELETE", `/tokens/${id}`, {}],
      ["GET", `/tokens/${id}`, {}],
      ["POST", "/tokens", { body: { type: "token", data: "x", containers: ["/general/"] } }],
      ["POST", "/tokenize", { body: { a: "1", b: "2" } }],
    ];
    for (const [method, path, options] of calls) {
      const before = await stored.counts(tenant.id);
      const key = { "bt-idempotency-key": crypto.randomUUID() };
      const headers = { ...options.headers, ...key, "bt-api-key": reader.key };
      const { status } = await backEnd(method, path, { ...options, headers });
      expect({ method, path, status }).toEqual({ method, path, status: 403 });
      expect(await stored.counts(tenant.id)).toEqual({ ...before, audit_logs: before.audit_logs + 1 });
    }
  });

  it("is a 503 if its log row cannot be written", async () => {
    const id = await newToken("x");
    const { body: reader } = await tenant.manage("POST", "/applications", {
      body: { name: "Creates", type: "private", permissions: ["token:create"] },
    });
    const read = () => backEnd("GET", `/tokens/${id}`, { headers: { "bt-api-key": reader.key } });
    expect((await read()).status).toBe(403);
    const { status, body } = await stored.holding("audit_logs", read);
    expect({ status, code: body.code }).toEqual({ status: 503, code: "unavailable" });
  });
});
