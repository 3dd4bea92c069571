import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { newTenant, type TestTenant } from "../../support/tenant.js";
import { type Destination, httpResponse, startDestination } from "../proxy/support/destination.js";
import { code, makeProxy } from "../proxy/support/proxies.js";

const MERGE = { "Content-Type": "application/merge-patch+json" };
const UNKNOWN_ID = "01980f70-1a2b-7c4d-9e5f-60718293a4b5";
/** Adds a header, and to the body its configuration and application. */
const REACTOR_CODE = `module.exports = async (req) => ({ raw: {
  headers: { ...req.args.headers, "X-Reactor": "yes" },
  body: { got: req.args.body, args: Object.keys(req.args).sort(), mode: req.configuration.MODE, bt: req.bt != null },
} });`;

let tenant: TestTenant;
let destination: Destination;
let backEnd: Awaited<ReturnType<TestTenant["backEnd"]>>;
beforeAll(async () => {
  tenant = await newTenant();
  backEnd = await tenant.backEnd();
  destination = await startDestination(httpResponse("200 OK", ["Content-Type: application/json"], '{"answer":1}'));
});
afterAll(() => destination[Symbol.asyncDispose]());

async function makeReactor(definition: object = {}): Promise<string> {
  const body = { name: "Reactor", code: REACTOR_CODE, configuration: { MODE: "live" }, ...definition };
  const made = await tenant.manage("POST", "/reactors", { body });
  expect(made.status, JSON.stringify(made.body)).toBe(201);
  return made.body.id;
}

function through(key: string, raw = '{"n":1}') {
  const headers = { "BT-PROXY-KEY": key };
  return backEnd("POST", "/proxy", { raw, headers });
}

describe("a proxy as the Terraform provider of 2023 sends it", () => {
  const sent = {
    name: "Terraform proxy",
    destination_url: "https://example.com/",
    request_reactor_id: "",
    response_reactor_id: "",
    request_transform: {},
    response_transform: {},
    configuration: {},
    require_auth: true,
  };

  it("is created without transforms and reactors, and shown as it was given", async () => {
    const { status, body } = await tenant.manage("POST", "/proxies", { body: sent });
    expect(status).toBe(201);
    expect(body).toMatchObject({ name: sent.name, destination_url: "https://example.com/", state: "active" });
    for (const name of ["request_transform", "response_transform", "request_reactor_id", "response_reactor_id"]) {
      expect(body).not.toHaveProperty(name);
    }
    const replaced = await tenant.manage("PUT", `/proxies/${body.id}`, { body: { ...sent, name: "Renamed" } });
    expect([replaced.status, replaced.body.name, replaced.body.destination_url]).toEqual([
      200,
      "Renamed",
      "https://example.com/",
    ]);
  });

  it.each(["https://example.com", "https://example.com/a//", "https://EXAMPLE.com:443/a?b=c/"])(
    "keeps the spelling of %s",
    async (destination_url) => {
      const { id } = await makeProxy(tenant, { destination_url });
      expect((await tenant.manage("GET", `/proxies/${id}`)).body.destination_url).toBe(destination_url);
      const changed = `${destination_url}x`;
      await tenant.manage("PATCH", `/proxies/${id}`, { body: { destination_url: changed }, headers: MERGE });
      expect((await tenant.manage("GET", `/proxies/${id}`)).body.destination_url).toBe(changed);
    },
  );

  it("still calls an address that ends with a slash", async () => {
    const { key } = await makeProxy(tenant, { destination_url: `${destination.url}/base/` });
    await backEnd("POST", "/proxy", { body: {}, headers: { "BT-PROXY-KEY": key } });
    expect(destination.last().line).toBe("POST /base HTTP/1.1");
    await backEnd("POST", "/proxy/a/", { body: {}, headers: { "BT-PROXY-KEY": key } });
    expect(destination.last().line).toBe("POST /base/a/ HTTP/1.1");
  });
});

describe("a transform", () => {
  const same = code("return { body: req.args.body, headers: req.args.headers }");

  it("is shown with its type only if that was given", async () => {
    const typed = { type: "code", ...same };
    const body = {
      ...{ name: "Typed", destination_url: "https://example.com" },
      ...{ request_transform: typed, response_transform: same },
      ...{ request_transforms: [typed], response_transforms: [same, typed] },
    };
    const made = await tenant.manage("POST", "/proxies", { body });
    expect(made.body).toMatchObject(body);
    expect(made.body.response_transform).toEqual(same);
    expect(made.body.response_transforms).toEqual([same, typed]);
    expect((await tenant.manage("GET", `/proxies/${made.body.id}`)).body).toMatchObject(body);
  });

  it.each([
    [{ ...same, matcher: "regex" }, "request_transform.matcher"],
    [{ ...same, expression: "(a)" }, "request_transform.expression"],
    [{ ...same, replacement: "*" }, "request_transform.replacement"],
  ])("with code and the parts of a mask is rejected", async (request_transform, field) => {
    const body = { name: "Mask", destination_url: "https://example.com", request_transform };
    const { status, body: refusal } = await tenant.manage("POST", "/proxies", { body });
    expect([status, Object.keys(refusal.errors)]).toEqual([400, [field]]);
  });

  it("removes nothing in a patch if it is empty", async () => {
    const { id } = await makeProxy(tenant, { destination_url: "https://example.com", request_transform: same });
    const patch = (body: object) => tenant.manage("PATCH", `/proxies/${id}`, { body, headers: MERGE });
    expect(await patch({ request_transform: {} })).toMatchObject({ status: 400 });
    expect((await tenant.manage("GET", `/proxies/${id}`)).body.request_transform).toEqual(same);
    expect(await patch({ request_transform: null })).toMatchObject({ status: 204 });
    expect((await tenant.manage("GET", `/proxies/${id}`)).body).not.toHaveProperty("request_transform");
  });
});

describe("reactors as transforms", () => {
  it("change requests and responses, with their own configuration and application", async () => {
    const plain = await makeReactor();
    const acting = await makeReactor({ application: { id: backEnd.id }, configuration: { MODE: "test" } });
    const { id, key } = await makeProxy(tenant, {
      ...{ destination_url: destination.url, request_reactor_id: acting, response_reactor_id: plain },
    });
    const shown = await tenant.manage("GET", `/proxies/${id}`);
    expect(shown.body).toMatchObject({ request_reactor_id: acting, response_reactor_id: plain });

    const token = (await backEnd("POST", "/tokens", { body: { type: "token", data: "secret" } })).body.id;
    const { status, headers, body } = await through(key, JSON.stringify({ t: `{{ ${token} }}` }));
    expect(JSON.parse(destination.last().body.toString())).toEqual({
      ...{ got: { t: "secret" }, args: ["body", "headers"], mode: "test", bt: true },
    });
    expect(destination.last().header("x-reactor")).toBe("yes");
    expect([status, headers.get("x-reactor")]).toEqual([200, "yes"]);
    expect(body).toEqual({ got: { answer: 1 }, args: ["body", "headers"], mode: "live", bt: false });

    const log = await tenant.manage("GET", `/logs?entity_type=reactor&size=20`);
    const invoked = log.body.data.filter(({ operation }: { operation: string }) => operation === "invoke");
    expect(invoked.map(({ entity_id, actor_id }: Record<string, string>) => [entity_id, actor_id])).toEqual([
      [plain, backEnd.id],
      [acting, backEnd.id],
    ]);
  });

  it("run before the newer kinds of transforms", async () => {
    const add = (letter: string) =>
      code(
        `return { headers: req.args.headers, body: { ...req.args.body, order: (req.args.body.order ?? "") + "${letter}" } };`,
      );
    const first = await makeReactor({
      code: 'module.exports = async (req) => ({ raw: { headers: req.args.headers, body: { order: "a" } } });',
    });
    const { key } = await makeProxy(tenant, {
      ...{ destination_url: destination.url, request_reactor_id: first },
      ...{ request_transform: add("b"), request_transforms: [{ type: "code", ...add("c") }] },
    });
    await through(key);
    expect(JSON.parse(destination.last().body.toString())).toEqual({ order: "abc" });
  });

  it("made from a formula have its code, its types and its parameters", async () => {
    const formula = await tenant.manage("POST", "/reactor-formulas", {
      body: {
        ...{ type: "private", name: "F", configuration: [{ name: "FEE", type: "number" }] },
        request_parameters: [{ name: "body.amount", type: "number" }],
        code: "module.exports = async (req) => ({ raw: { headers: req.args.headers, body: { total: req.args.body.amount + req.configuration.FEE } } });",
      },
    });
    const reactor = await makeReactor({
      ...{ code: undefined, formula: { id: formula.body.id }, configuration: { FEE: "5" } },
    });
    const { key } = await makeProxy(tenant, { destination_url: destination.url, request_reactor_id: reactor });
    expect((await through(key, '{"amount":10}')).status).toBe(200);
    expect(destination.last().body.toString()).toBe('{"total":15}');
    const asked = destination.requests.length;
    const refused = await through(key, "{}");
    expect([refused.status, refused.body.proxy_error.errors]).toEqual([
      400,
      { "args.body.amount": ["must be a number"] },
    ]);
    expect(destination.requests).toHaveLength(asked);
  });

  it("receive whole bodies, as transforms do", async () => {
    const reactor = await makeReactor({ code: "module.exports = async (req) => ({ raw: req.args });" });
    const { key } = await makeProxy(tenant, { destination_url: destination.url, request_reactor_id: reactor });
    const text = "x".repeat(2 * 1024 * 1024);
    expect((await through(key, JSON.stringify({ text }))).status).toBe(200);
    expect(destination.last().body.length).toBe(text.length + 11);
  });

  it("run in their current version, whenever they were changed", async () => {
    const body = (word: string) => ({
      name: "R",
      code: `module.exports = async () => ({ raw: { headers: {}, body: "${word}" } });`,
    });
    const reactor = await makeReactor(body("one"));
    const { key } = await makeProxy(tenant, { destination_url: destination.url, request_reactor_id: reactor });
    await through(key);
    expect(destination.last().body.toString()).toBe("one");
    await tenant.manage("PUT", `/reactors/${reactor}`, { body: body("two") });
    await through(key);
    expect(destination.last().body.toString()).toBe("two");
  });

  it.each([
    ["no object", "1", "raw, an object with body and headers"],
    ["no raw", "{}", "raw, an object with body and headers"],
    ["raw without headers", "{ raw: { body: 1 } }", "must return an object with body and headers"],
    ["tokens", "{ raw: { body: 1, headers: {} }, tokenize: { a: 1 } }", "must not return tokenize"],
  ])("fail the call and send nothing if they return %s", async (_, returned, text) => {
    const reactor = await makeReactor({ code: `module.exports = async () => (${returned});` });
    const { key } = await makeProxy(tenant, { destination_url: destination.url, request_reactor_id: reactor });
    const asked = destination.requests.length;
    const { status, body } = await through(key);
    expect(status).toBe(500);
    expect(body.proxy_error.errors.error[0]).toContain(text);
    expect(destination.requests).toHaveLength(asked);
  });

  it("fail the call and send nothing after they are deleted", async () => {
    const reactor = await makeReactor();
    const { id, key } = await makeProxy(tenant, { destination_url: destination.url, request_reactor_id: reactor });
    expect((await tenant.manage("DELETE", `/reactors/${reactor}`)).status).toBe(204);
    const asked = destination.requests.length;
    const { status, body } = await through(key);
    expect([status, body.proxy_error.code]).toEqual([422, "unprocessable"]);
    expect(destination.requests).toHaveLength(asked);
    const rename = { body: { name: "Still to be changed" }, headers: MERGE };
    expect((await tenant.manage("PATCH", `/proxies/${id}`, rename)).status).toBe(204);
    const cleared = { body: { request_reactor_id: null }, headers: MERGE };
    expect((await tenant.manage("PATCH", `/proxies/${id}`, cleared)).status).toBe(204);
    expect((await through(key)).status).toBe(200);
  });

  it("must be reactors of the tenant", async () => {
    const foreign = await newTenant();
    const theirs = await foreign.manage("POST", "/reactors", { body: { name: "R", code: REACTOR_CODE } });
    const { id } = await makeProxy(tenant, { destination_url: destination.url });
    for (const [given, field] of [
      [UNKNOWN_ID, "request_reactor_id"],
      [theirs.body.id, "response_reactor_id"],
      ["no-uuid", "request_reactor_id"],
    ]) {
      const body = { name: "P", destination_url: destination.url, [String(field)]: given };
      const responses = [
        await tenant.manage("POST", "/proxies", { body }),
        await tenant.manage("PUT", `/proxies/${id}`, { body }),
        await tenant.manage("PATCH", `/proxies/${id}`, { body: { [String(field)]: given }, headers: MERGE }),
      ];
      for (const { status, body: refusal } of responses) {
        expect([status, Object.keys(refusal.errors ?? {})]).toEqual([400, [field]]);
      }
    }
  });
});

describe("a proxy that does not detokenize", () => {
  it("sends references unchanged everywhere, and needs no token permission", async () => {
    const { id, key } = await makeProxy(tenant, {
      ...{ destination_url: destination.url, disable_detokenization: true, configuration: { A: "1" } },
    });
    expect((await tenant.manage("GET", `/proxies/${id}`)).body.disable_detokenization).toBe(true);
    const token = (await backEnd("POST", "/tokens", { body: { type: "token", data: "secret" } })).body.id;
    const raw = `{"t":"{{ ${token} }}","u":"{{ ${UNKNOWN_ID} }}","broken":"{{ ","c":"{{ config: A }}"}`;
    const headers = { "BT-PROXY-KEY": key, "X-T": `{{ ${token} }}` };
    const { status } = await backEnd("POST", `/proxy?q=%7B%7B${token}%7D%7D`, { raw, headers });
    expect(status).toBe(200);
    expect(destination.last().body.toString()).toBe(raw);
    expect(destination.last().line).toContain(`?q=%7B%7B${token}%7D%7D`);
    expect(destination.last().header("x-t")).toBe(`{{ ${token} }}`);
    const used = await tenant.manage("GET", `/logs?entity_id=${token}`);
    expect(used.body.data.map(({ operation }: { operation: string }) => operation)).toEqual(["create"]);
  });

  it("detokenizes again once it is changed back", async () => {
    const { id, key } = await makeProxy(tenant, { destination_url: destination.url, disable_detokenization: true });
    const token = (await backEnd("POST", "/tokens", { body: { type: "token", data: "secret" } })).body.id;
    const body = { disable_detokenization: false };
    expect((await tenant.manage("PATCH", `/proxies/${id}`, { body, headers: MERGE })).status).toBe(204);
    await through(key, `{"t":"{{ ${token} }}"}`);
    expect(destination.last().body.toString()).toBe('{"t":"secret"}');
    const replaced = await tenant.manage("PUT", `/proxies/${id}`, {
      body: { name: "P", destination_url: destination.url, disable_detokenization: true },
    });
    expect(replaced.body.disable_detokenization).toBe(true);
  });
});

describe("a reactor", () => {
  it("is active, and keeps its formula when it is replaced without one", async () => {
    const formula = await tenant.manage("POST", "/reactor-formulas", {
      body: { type: "private", name: "F", code: 'module.exports = async () => ({ raw: "formula" });' },
    });
    const id = await makeReactor({ code: undefined, formula: { id: formula.body.id }, configuration: {} });
    const replaced = await tenant.manage("PUT", `/reactors/${id}`, { body: { name: "Renamed", configuration: {} } });
    expect(replaced.status).toBe(200);
    expect(replaced.body).toMatchObject({ name: "Renamed", state: "active", formula: formula.body });
    expect((await tenant.manage("GET", `/reactors/${id}`)).body.formula).toEqual(formula.body);
    expect((await tenant.manage("GET", `/reactors?id=${id}`)).body.data[0].formula).toEqual(formula.body);
    const whole = { name: "Whole", formula: formula.body, configuration: {} };
    expect((await tenant.manage("POST", "/reactors", { body: whole })).body).toMatchObject({ formula: formula.body });
    expect((await backEnd("POST", `/reactors/${id}/react`, { body: {} })).body).toEqual({ raw: "formula" });

    const own = await makeReactor();
    const refused = await tenant.manage("PUT", `/reactors/${own}`, { body: { name: "Renamed" } });
    expect([refused.status, refused.body.errors]).toEqual([400, { code: ["must be given, or a formula"] }]);
  });

  it("is shown the runtime that it was given, which limits its time", async () => {
    const runtime = { image: "node-bt", timeout: 1, warm_concurrency: 1, resources: "standard" };
    const slow =
      "module.exports = async () => { await new Promise((done) => setTimeout(done, 5000)); return { raw: 1 } };";
    const made = await tenant.manage("POST", "/reactors", {
      body: { name: "R", code: slow, runtime: { ...runtime, async: false, dependencies: {}, permissions: [] } },
    });
    expect(made.body.runtime).toEqual(runtime);
    const { status, body } = await backEnd("POST", `/reactors/${made.body.id}/react`, { body: {} });
    expect([status, body.errors]).toEqual([500, { error: ["The code took too long."] }]);
    const body2 = { runtime: null };
    expect((await tenant.manage("PATCH", `/reactors/${made.body.id}`, { body: body2, headers: MERGE })).status).toBe(
      204,
    );
    expect((await tenant.manage("GET", `/reactors/${made.body.id}`)).body).not.toHaveProperty("runtime");
  });

  const REFUSED: [string, unknown][] = [
    ["image", "node22"],
    ["timeout", 31],
    ["timeout", -1],
    ["warm_concurrency", 2],
    ["resources", "large"],
    ["async", true],
    ["dependencies", { "is-odd": "3.0.1" }],
    ["resolutions", { "is-odd": "3.0.1" }],
    ["permissions", ["token:create"]],
  ];
  it.each(REFUSED)("is rejected with the runtime.%s %j, and so is a transform", async (name, value) => {
    const runtime = { [name]: value };
    const reactor = await tenant.manage("POST", "/reactors", { body: { name: "R", code: REACTOR_CODE, runtime } });
    expect([reactor.status, Object.keys(reactor.body.errors)]).toEqual([400, [`runtime.${name}`]]);
    const transform = { type: "code", code: REACTOR_CODE, options: { runtime } };
    const proxy = await tenant.manage("POST", "/proxies", {
      body: { name: "P", destination_url: "https://example.com", request_transforms: [transform] },
    });
    expect([proxy.status, Object.keys(proxy.body.errors)]).toEqual([
      400,
      [`request_transforms[0].options.runtime.${name}`],
    ]);
  });

  it("lets a transform omit its runtime, as the Terraform provider does", async () => {
    const runtime = { image: "", timeout: 0, warm_concurrency: 0, resources: "", async: false };
    const made = await tenant.manage("POST", "/reactors", { body: { name: "R", code: REACTOR_CODE, runtime } });
    expect([made.status, made.body.runtime]).toEqual([201, { warm_concurrency: 0 }]);
    const options = { runtime: { timeout: 30, image: "node-bt" } };
    const transform = { type: "code", code: REACTOR_CODE, options };
    const { id } = await makeProxy(tenant, { destination_url: "https://example.com", request_transforms: [transform] });
    expect((await tenant.manage("GET", `/proxies/${id}`)).body.request_transforms).toEqual([transform]);
  });
});

describe("a formula", () => {
  it.each(["data:image/png;base64,iVBORw0KGgo=", "data:image/png;base64, iVBORw0KGgo="])(
    "has the icon %s as it was given",
    async (icon) => {
      const body = { type: "private", name: "F", code: "module.exports = () => {};", icon };
      const made = await tenant.manage("POST", "/reactor-formulas", { body });
      expect([made.status, made.body.icon]).toEqual([201, icon]);
    },
  );
});
