import { once } from "node:events";
import { connect } from "node:http2";
import { buffer } from "node:stream/consumers";
import { beforeAll, describe, expect, inject, it } from "vitest";
import { logLineOf } from "../../support/log-line.js";
import type { RestClient } from "../../support/rest.js";
import { newTenant, type TestTenant } from "../../support/tenant.js";

type Application = Awaited<ReturnType<TestTenant["backEnd"]>>;

let tenant: TestTenant;
let caller: Application;
let manage: RestClient;
/** Two tokens of one tenant: their values have different types. */
let card: string;
let amount: string;

const PRELUDE = "const errors = require('@basis-theory/basis-theory-reactor-formulas-sdk-js');";

beforeAll(async () => {
  tenant = await newTenant();
  manage = tenant.manage;
  caller = await tenant.backEnd();
  const data = { number: "4242424242424242", expiration_month: 12, expiration_year: 2030 };
  card = (await caller("POST", "/tokens", { body: { type: "card", data } })).body.id;
  amount = (await caller("POST", "/tokens", { body: { type: "token", data: 1250 } })).body.id;
});

async function reactor(code: string, more: object = {}): Promise<string> {
  const { status, body } = await manage("POST", "/reactors", { body: { name: "Test", code, ...more } });
  expect(status, JSON.stringify(body)).toBe(201);
  return body.id;
}

async function react(code: string, args?: unknown, more: object = {}) {
  const id = await reactor(code, more);
  return caller("POST", `/reactors/${id}/react`, { body: { args } });
}

const failing = (body: string) => `${PRELUDE} module.exports = async function () { ${body} };`;

describe("a reactor that is called", () => {
  it("gets the values of tokens with their types, and its raw result is returned unchanged", async () => {
    const { status, body, headers } = await react(
      "module.exports = async function (req) { return { raw: { kinds: Object.keys(req.args).map((k) => typeof req.args[k]), year: req.args.card.expiration_year, more: req.args.amount + 1, note: req.args.note } }; };",
      { card: `{{ ${card} }}`, amount: `{{ ${amount} }}`, note: `Card {{ ${card} | json: '$.number' }}` },
    );
    expect(status).toBe(200);
    expect(headers.get("content-type")).toMatch(/^application\/json/);
    expect(body).toEqual({
      raw: { kinds: ["object", "number", "string"], year: 2030, more: 1251, note: "Card 4242424242424242" },
    });
  });

  it("gets tokens for what it returns as tokenize, in the same shape", async () => {
    const { status, body } = await react(
      "module.exports = async function (req) { return { raw: 1, tokenize: { first: 'a', second: { type: 'token', data: req.args.value } } }; };",
      { value: "secret coat" },
    );
    expect(status).toBe(200);
    expect(body.raw).toBe(1);
    expect(body.tokens.first).toMatch(/^[0-9a-f-]{36}$/);
    expect(body.tokens.second).toMatchObject({ type: "token", id: expect.any(String) });
    expect(body.tokens.second).not.toHaveProperty("data");
    const stored = await caller("GET", `/tokens/${body.tokens.second.id}`);
    expect(stored.body.data).toBe("secret coat");
  });

  it("sees its configuration, and no bt without an application", async () => {
    const { body } = await react(
      "module.exports = async (req) => ({ raw: { key: req.configuration.KEY, bt: typeof req.bt } });",
      undefined,
      { configuration: { KEY: "shared secret" } },
    );
    expect(body).toEqual({ raw: { key: "shared secret", bt: "undefined" } });
  });

  it("uses bt with the permissions of its application, and no others", async () => {
    const { id: application } = await tenant.application({ type: "private", permissions: ["token:create"] });
    const code =
      "module.exports = async ({ bt, args }) => { const made = await bt.tokens.create({ type: 'token', data: args.value }); let refused; try { await bt.tokens.retrieve(made.id); } catch (error) { refused = error.status; } return { raw: { made: made.id, refused } }; };";
    const { status, body } = await react(code, { value: "through bt" }, { application: { id: application } });
    expect(status, JSON.stringify(body)).toBe(200);
    expect(body.raw.refused).toBe(403);
    expect((await caller("GET", `/tokens/${body.raw.made}`)).body.data).toBe("through bt");
  });

  it("uses bt with a permission of its application from when it is granted until it is revoked", async () => {
    const clerk = await tenant.application({ type: "private", permissions: ["token:create"] });
    const code =
      "module.exports = async ({ bt, args }) => ({ raw: await bt.tokens.retrieve(args.id).then(() => 200, (error) => error.status) });";
    const id = await reactor(code, { application: { id: clerk.id } });
    const responses: unknown[] = [];
    for (const permission of [undefined, "token:read", undefined]) {
      const body = { name: "Clerk", permissions: ["token:create", ...(permission ? [permission] : [])] };
      expect((await manage("PUT", `/applications/${clerk.id}`, { body })).status).toBe(200);
      responses.push((await caller("POST", `/reactors/${id}/react`, { body: { args: { id: amount } } })).body.raw);
    }
    expect(responses).toEqual([403, 200, 403]);
  });

  it("does not run once its application is deleted, also where the application's rights are still known", async () => {
    const clerk = await tenant.application({ type: "private", permissions: ["token:create"] });
    const id = await reactor("module.exports = () => ({ raw: 1 });", { application: { id: clerk.id } });
    const run = async () => (await caller("POST", `/reactors/${id}/react`, { body: {} })).status;
    expect(await run()).toBe(200);
    expect((await manage("DELETE", `/applications/${clerk.id}`)).status).toBe(204);
    expect(await run()).toBe(403);
  });

  it("may be a plain function, and its arguments may be missing", async () => {
    expect((await react("module.exports = (req) => ({ raw: Object.keys(req.args) });")).body).toEqual({ raw: [] });
  });

  it("is logged, and so is each token that it used", async () => {
    const id = await reactor("module.exports = () => ({});");
    const { status } = await caller("POST", `/reactors/${id}/react`, { body: { args: { card: `{{ ${card} }}` } } });
    expect(status).toBe(200);
    const logs = (await manage("GET", `/logs?entity_type=reactor&entity_id=${id}`)).body.data;
    expect(logs.map(({ operation }: { operation: string }) => operation).sort()).toEqual(["create", "invoke"]);
    const uses = (await manage("GET", `/logs?entity_type=card&entity_id=${card}`)).body.data;
    expect(uses.some(({ operation }: { operation: string }) => operation === "use")).toBe(true);
  });

  it("is not called for a caller who may not use the tokens, nor with unknown ones", async () => {
    const id = await reactor("module.exports = () => ({ raw: 1 });");
    const other = await tenant.application({ type: "private", permissions: ["token:read"] });
    const body = { args: { card: `{{ ${card} }}` } };
    expect((await other("POST", `/reactors/${id}/react`, { body })).status).toBe(403);
    const unknown = await caller("POST", `/reactors/${id}/react`, {
      body: { args: { a: "{{ 00000000-0000-4000-8000-000000000000 }}" } },
    });
    expect(unknown.status).toBe(400);
    expect(JSON.stringify(unknown.body)).toContain("00000000-0000-4000-8000-000000000000");
    const malformed = await caller("POST", `/reactors/${id}/react`, {
      body: { args: { a: `{{ ${card} | nothing }}` } },
    });
    expect(malformed.status).toBe(400);
    const outsider = await (await newTenant()).backEnd();
    expect((await outsider("POST", `/reactors/${id}/react`, { body: { args: {} } })).status).toBe(404);
  });
});

describe("a reactor that fails returns status, detail and errors", () => {
  it.each<[string, number, string]>([
    ["AuthenticationError", 401, "Authentication Failed"],
    ["AuthorizationError", 403, "Forbidden"],
    ["BadRequestError", 400, "Bad Request"],
    ["InvalidPaymentMethodError", 402, "Invalid Payment Method"],
    ["InvalidReactorConfigurationError", 400, "Invalid Reactor Configuration"],
    ["RateLimitError", 429, "Rate Limit Exceeded"],
    ["ReactorRuntimeError", 500, "Reactor Runtime Error"],
    ["ServiceUnavailableError", 503, "Service Unavailable"],
  ])("for %s: %i", async (name, status, detail) => {
    const { body, ...response } = await react(failing(`throw new errors.${name}('the reason');`));
    expect(response.status).toBe(status);
    expect(body).toEqual({
      ...{ type: "/docs/guides/errors#reactor_error", title: "The code of the reactor failed.", code: "reactor_error" },
      instance: `urn:cloakroom:trace:${response.headers.get("bt-trace-id")}`,
      ...{ status, detail, errors: { error: ["the reason"] } },
    });
  });

  it.each<[string, string, Record<string, string[]>]>([
    ["an array", "['a', 'b']", { error: ["a", "b"] }],
    ["an object", "{ field: ['x'], other: 'y', deep: { a: 1 } }", { field: ["x"], other: ["y"], deep: ['{"a":1}'] }],
    ["an error", "new Error('inner')", { error: ["inner"] }],
    ["a number", "5", { error: ["5"] }],
  ])("with errors made from %s", async (_, given, errors) => {
    const { status, body } = await react(failing(`throw new errors.BadRequestError(${given});`));
    expect(status).toBe(400);
    expect(body.errors).toEqual(errors);
  });

  it("returns a CustomHttpResponseError verbatim", async () => {
    const { status, headers, body } = await react(
      failing(
        "throw new errors.CustomHttpResponseError({ status: 418, headers: { 'X-Kettle': 'on', 'BT-Trace-Id': 'theirs' }, body: { tea: 1 } });",
      ),
    );
    expect(status).toBe(418);
    expect(headers.get("x-kettle")).toBe("on");
    expect(headers.get("bt-trace-id")).toMatch(/^[0-9a-f-]{36}$/);
    expect(body).toEqual({ tea: 1 });
  });

  it.each([204, 205, 304])("CustomHttpResponseError %s has no body over HTTP/1.1 and HTTP/2", async (status) => {
    const id = await reactor(
      failing(`throw new errors.CustomHttpResponseError({ status: ${status}, body: { a: 1 } });`),
    );
    expect(await caller("POST", `/reactors/${id}/react`, { body: {} })).toMatchObject({ status, body: "" });
    const session = connect(inject("serverUrl"));
    try {
      const stream = session.request({
        ...{ ":method": "POST", ":path": `/reactors/${id}/react` },
        ...{ "bt-api-key": caller.key, "content-type": "application/json" },
      });
      const response = once(stream, "response");
      stream.end("{}");
      const [headers] = await response;
      expect(headers[":status"]).toBe(status);
      expect(headers["content-length"] ?? "0").toBe("0");
      // Rejects if the stream is reset.
      expect(await buffer(stream)).toEqual(Buffer.alloc(0));
    } finally {
      session.destroy();
    }
  });

  it.each<[string, string, RegExp]>([
    ["any other thrown value", "throw new TypeError('oh');", /oh/],
    ["a throw of null", "throw null;", /./],
    ["a hostile object", "throw { get message() { throw this; }, toString() { throw this; } };", /./],
    ["a result that is not a object", "return 7;", /object/],
    ["a text of 100 MB", "return { raw: 'x'.repeat(1e8) };", /too much/],
    ["memory without end", "const kept = []; for (;;) kept.push(new Uint8Array(1e6));", /memory/],
    ["a promise that never settles", "await new Promise(() => {});", /./],
  ])("500 for %s", async (_, code, text) => {
    const { status, body } = await react(failing(code));
    expect(status).toBe(500);
    expect(body).toMatchObject({ status: 500, detail: "Reactor Runtime Error" });
    expect(JSON.stringify(body.errors)).toMatch(text);
  });

  it("beyond a thousand host calls, each on its own, and as a whole if their errors fill its memory", async () => {
    const { id: application } = await tenant.application({ type: "private", permissions: ["token:use"] });
    const calling = (calls: number) =>
      `module.exports = async ({ bt }) => {
        const all = await Promise.allSettled(Array.from({ length: ${calls} }, () => bt.tokens.retrieve('none')));
        const kinds = {};
        for (const { reason } of all) { const kind = reason.status ?? reason.message; kinds[kind] = (kinds[kind] ?? 0) + 1; }
        return { raw: kinds };
      };`;
    const { status, body } = await react(calling(5_000), {}, { application: { id: application } });
    expect(status, JSON.stringify(body)).toBe(200);
    expect(Object.values(body.raw)).toEqual([1_000, 4_000]);
    expect(body.raw["403"]).toBe(1_000);
    const most = await react(calling(100_000), {}, { application: { id: application } });
    expect(most.status).toBe(500);
    expect(most.body).toMatchObject({
      ...{ status: 500, detail: "Reactor Runtime Error", code: "reactor_error" },
      errors: { error: ["The code used too much memory."] },
    });
  });
});

describe("a reactor", () => {
  it("rejects code that does not compile with the line and the column, and does not store it", async () => {
    const before = (await manage("GET", "/reactors?name=Broken")).body.pagination.total_items;
    const { status, body } = await manage("POST", "/reactors", {
      body: { name: "Broken", code: "module.exports = async function (req) {\n  return {{ raw: 1 };\n};" },
    });
    expect(status).toBe(422);
    expect(body.errors.code[0]).toMatch(/line 2.*column \d+/i);
    expect((await manage("GET", "/reactors?name=Broken")).body.pagination.total_items).toBe(before);
  });

  it("is created, read, listed, replaced, patched and deleted", async () => {
    const id = await reactor("module.exports = () => ({ raw: 1 });", { configuration: { A: "1", B: "2" } });
    expect((await manage("GET", `/reactors/${id}`)).body).toMatchObject({
      id,
      tenant_id: tenant.id,
      name: "Test",
      configuration: { A: "1", B: "2" },
    });
    const patch = { headers: { "Content-Type": "application/merge-patch+json" } };
    const wrongType = await manage("PATCH", `/reactors/${id}`, { body: { name: "X" } });
    expect(wrongType.status).toBe(415);
    const patched = await manage("PATCH", `/reactors/${id}`, {
      ...patch,
      body: { name: "Renamed", configuration: { A: null, C: "3" } },
    });
    expect(patched.status).toBe(204);
    const listed = await manage("GET", "/reactors?name=Rena*");
    expect(listed.body.data).toHaveLength(1);
    expect(listed.body.data[0]).toMatchObject({ name: "Renamed", configuration: { B: "2", C: "3" } });
    const code = "module.exports = () => ({ raw: 2 });";
    const replaced = await manage("PUT", `/reactors/${id}`, { body: { name: "Replaced", code } });
    expect(replaced.status).toBe(200);
    const called = await caller("POST", `/reactors/${id}/react`, { body: {} });
    expect(called.body).toEqual({ raw: 2 });
    expect((await manage("DELETE", `/reactors/${id}`)).status).toBe(204);
    expect((await manage("GET", `/reactors/${id}`)).status).toBe(404);
    expect((await caller("POST", `/reactors/${id}/react`, { body: {} })).status).toBe(404);
  });

  it.each<[string, object, string]>([
    ["no name", { code: "module.exports = () => {};" }, "name"],
    ["no code", { name: "x" }, "code"],
    ["code of 50,001 characters", { name: "x", code: "/".repeat(50_001) }, "code"],
    [
      "an invalid application",
      { name: "x", code: "module.exports = () => {};", application: { id: "no" } },
      "application.id",
    ],
    [
      "a configuration of numbers",
      { name: "x", code: "module.exports = () => {};", configuration: { A: 1 } },
      "configuration",
    ],
  ])("with %s is a 400 that names the field", async (_, body, field) => {
    const response = await manage("POST", "/reactors", { body });
    expect(response.status).toBe(400);
    expect(Object.keys(response.body.errors).join()).toContain(field);
  });
});

describe("an error of a tenant's code", () => {
  it("is not a server error in the operator's log", async () => {
    const { headers, status } = await react(failing("throw new Error('theirs, and not logged here');"));
    expect(status).toBe(500);
    const line = await logLineOf(headers);
    expect(JSON.parse(line)).toMatchObject({ level: 30, rpc: "React", status: 500, code: "reactor_error" });
    expect(line).not.toContain("theirs");
  });
});
