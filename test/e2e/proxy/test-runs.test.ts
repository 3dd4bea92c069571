import fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";
import { newMember } from "../../support/member.js";
import type { RestClient } from "../../support/rest.js";
import { newTenant, type TestTenant } from "../../support/tenant.js";
import { signedIn } from "../../support/test-browser.js";
import { startDestination } from "./support/destination.js";
import { code, makeProxy } from "./support/proxies.js";

let tenant: TestTenant;
let author: RestClient & { readonly id: string };

beforeAll(async () => {
  tenant = await newTenant();
  author = await tenant.application({ type: "management", permissions: ["proxy:update"] });
});

const test = (body: object, client: RestClient = author) => client("POST", "/proxies/test", { body });

const SIGNING = code(`console.log("signing", req.args.method, req.args.path);
  return { body: { ...req.args.body, signed: req.configuration.KEY }, headers: { ...req.args.headers, "X-Signed": "yes" } };`);
const COUNTING = code(
  "console.info('counting'); return { body: { n: req.args.body.list.length }, headers: req.args.headers };",
);

describe("a test run of a proxy's transforms", () => {
  it("shows the request as it is sent and the response as its caller gets it, with each step", async () => {
    const { status, body } = await test({
      request_transforms: [SIGNING, { type: "append_header", options: { location: "X-More", value: "1" } }],
      response_transforms: [COUNTING],
      configuration: { KEY: "of the test" },
      request: { method: "PUT", path: "/charges", query: "?a=1", body: { amount: 5 } },
      answer: { status: 201, body: { list: [1, 2, 3] } },
    });
    expect(status, JSON.stringify(body)).toBe(200);
    expect(body.error).toBeUndefined();
    expect(body.request).toMatchObject({
      ...{ method: "PUT", path: "/charges", query: "?a=1", body: { amount: 5, signed: "of the test" } },
    });
    expect(body.request.headers).toEqual(
      expect.arrayContaining([
        { name: "X-Signed", value: "yes" },
        { name: "X-More", value: "1" },
      ]),
    );
    expect(body.answer).toMatchObject({ status: 201, body: { n: 3 } });
    expect(body.steps).toEqual([
      {
        kind: "request_transform",
        console: [{ level: "log", text: "signing PUT /charges" }],
        duration_ms: expect.any(Number),
        memory_bytes: expect.any(Number),
      },
      expect.objectContaining({ kind: "response_transform", console: [{ level: "info", text: "counting" }] }),
    ]);
  });

  it("evaluates the expressions of a sample for a person as the role reads tokens: masked, with a row for each", async () => {
    const backEnd = await tenant.backEnd();
    const card = { number: "4242424242424242", expiration_month: 12, expiration_year: 2030 };
    const { body: token } = await backEnd("POST", "/tokens", { body: { type: "card", data: card } });
    const sample = {
      number: `{{ ${token.id} | json: "$.number" }}`,
      year: `{{ ${token.id} | json: "$.expiration_year" }}`,
    };
    const run = async (role: Parameters<typeof newMember>[1], more: object = {}) => {
      const browser = await signedIn(tenant.id, await newMember(tenant, role));
      const echo = code("return { body: { seen: req.args.body }, headers: req.args.headers };");
      return browser.call("ProxyService/TestProxy", {
        ...{ requestTransforms: [echo], request: { body: sample }, evaluateTokens: true, ...more },
      });
    };
    const { status, body } = await run("ADMIN");
    expect([status, body.request?.body]).toEqual([200, { seen: { number: "XXXXXXXXXXXX4242", year: "2030" } }]);
    expect(JSON.stringify(body)).not.toContain(card.number);
    const { body: log } = await tenant.manage("GET", `/logs?entity_type=card&entity_id=${token.id}&operation=read`);
    expect(log.data[0]).toMatchObject({ actor_type: "user", transform: "mask", outcome: "allowed" });
    expect((await run("DEVELOPER")).status).toBe(403);
    const real = await run("ADMIN", { destinationUrl: "https://partner.example" });
    expect([real.status, JSON.stringify(real.body)]).toEqual([400, expect.stringContaining("evaluate_tokens")]);
    const outside = await run("ADMIN", { outside: { network: true } });
    expect([outside.status, JSON.stringify(outside.body)]).toEqual([400, expect.stringContaining("outside.network")]);
    const plain = await run("ADMIN", { evaluateTokens: false });
    expect(plain.body.request.body).toEqual({ seen: sample });
  });

  it("never shows a key more than a mask, whatever the key may read", async () => {
    const backEnd = await tenant.backEnd();
    const { body: token } = await backEnd("POST", "/tokens", {
      body: { type: "card_number", data: "4242424242424242" },
    });
    const { status, body } = await test({ request: { body: `{{ ${token.id} }}` }, evaluate_tokens: true });
    expect([status, body.code]).toEqual([403, "permission_denied"]);
    const missing = await test({
      request: { body: "{{ 01a22193-0000-7000-8000-000000000000 }}" },
      evaluate_tokens: true,
    });
    const told = ({ status, body: { code: refusal, detail } }: typeof missing) => [status, refusal, detail];
    expect(told(missing)).toEqual([403, "permission_denied", expect.any(String)]);
    expect(told(await test({ request: { body: `{{ ${token.id} }}` }, evaluate_tokens: true }))).toEqual(told(missing));
    const { body: log } = await tenant.manage("GET", "/logs?entity_type=proxy&size=100");
    type Row = { readonly actor_id: string; readonly operation: string };
    const tried = log.data.filter((row: Row) => row.operation === "test" && row.actor_id === author.id);
    expect(tried.length).toBeGreaterThanOrEqual(3);
  });

  it("shows the body that a destination gets of the same masked values", async () => {
    await using destination = await startDestination();
    const { key: proxyKey } = await makeProxy(tenant, { destination_url: destination.url });
    const rule = { priority: 1, container: "/", transform: "mask", permissions: ["token:use"], description: "Masked" };
    const masked = await tenant.application({ type: "private", rules: [rule] });
    const backEnd = await tenant.backEnd();
    const card = { number: "4242424242424242", expiration_month: 12, expiration_year: 2030 };
    const { body: token } = await backEnd("POST", "/tokens", { body: { type: "card", data: card } });
    const admin = await signedIn(tenant.id, await newMember(tenant, "ADMIN"));
    const filters = ['| json: "$.number"', '| json: "$.expiration_year"', '| json: "$.expiration_year" | to_number'];
    const expressions = filters.map((filter) => `{{ ${token.id} ${filter} }}`);
    const text = fc.oneof(
      fc.constantFrom(...expressions, ...expressions.map((one) => `<${one}>`), `{{${token.id}}}`),
      fc.string(),
    );
    const { tree } = fc.letrec((tie) => ({
      tree: fc.oneof(
        { depthSize: "small" },
        text,
        fc.integer(),
        fc.boolean(),
        fc.array(tie("tree")),
        fc.dictionary(fc.string(), tie("tree")),
      ),
    }));
    const bodies = fc.dictionary(fc.string({ maxLength: 3 }), tree);
    await fc.assert(
      fc.asyncProperty(bodies, async (body) => {
        const raw = JSON.stringify(body);
        const headers = [{ name: "Content-Type", value: "application/json" }];
        const tried = await admin.call("ProxyService/TestProxy", {
          ...{ request: { headers, body: raw }, evaluateTokens: true },
        });
        const called = await masked("POST", "/proxy", {
          raw,
          headers: { "BT-PROXY-KEY": proxyKey, "Content-Type": "application/json" },
        });
        expect([tried.status < 300, JSON.stringify(tried.body)]).toEqual([called.status < 300, expect.any(String)]);
        if (called.status < 300)
          expect(tried.body.request.body).toEqual(JSON.parse(destination.last().body.toString()));
      }),
      { numRuns: 40 },
    );
  });

  it("shows the error of a failed step, and keeps the earlier steps", async () => {
    const failing = code("console.log('about to fail');\nreturn req.args.body.no.such;");
    const { status, body } = await test({ request_transforms: [SIGNING, failing], request: { body: {} } });
    expect(status).toBe(200);
    expect(body.error).toMatchObject({ status: 500, position: { line: 2 } });
    expect(body.steps).toEqual([
      expect.not.objectContaining({ error: expect.anything() }),
      expect.objectContaining({ error: body.error, console: [{ level: "log", text: "about to fail" }] }),
    ]);
    expect(body.request).toBeUndefined();
  });

  it("invents the tokens of a step that creates tokens, and stores none", async () => {
    const backEnd = await tenant.backEnd();
    const count = async () => (await backEnd("GET", "/tokens")).body.pagination.total_items;
    const before = await count();
    const { body } = await test({
      response_transforms: [
        { type: "tokenize", options: { identifier: "made", token: { type: "token", data: "{{ res.secret }}" } } },
        {
          type: "append_json",
          options: { value: "{{ transform_identifier: 'made' | json: '$.id' }}", location: "$.id" },
        },
      ],
      request: {},
      answer: { status: 200, body: { secret: "coat" } },
    });
    expect(body.error, JSON.stringify(body)).toBeUndefined();
    expect(body.answer.body).toMatchObject({ secret: "coat", id: expect.stringMatching(/^[0-9a-f-]{36}$/) });
    expect(await count()).toBe(before);
  });

  it("masks a response", async () => {
    const { body } = await test({
      response_transforms: [{ type: "mask", matcher: "chase_stratus_pan", replacement: "#" }],
      request: {},
      answer: { status: 200, body: { number: "4242424242424242" } },
    });
    expect(JSON.stringify(body.answer.body)).not.toContain("42424242424242");
  });

  it("leaves expressions unchanged, and refuses to send them to a destination", async () => {
    const request = { body: { card: "{{ 00000000-0000-4000-8000-000000000000 }}" } };
    expect((await test({ request })).body.request.body).toEqual(request.body);
    const { status, body } = await test({ request, destination_url: "https://example.com" });
    expect({ status, fields: Object.keys(body.errors) }).toEqual({ status: 400, fields: ["request"] });
  });

  it("refuses to send expressions in other spellings", async () => {
    await using destination = await startDestination();
    const json = [{ name: "Content-Type", value: "application/json" }];
    const encoded = code(
      'return { body: "<a>&#x7b;&#123; id &#125;}</a>", headers: { "Content-Type": "application/xml" } };',
    );
    for (const more of [
      { request: { path: "/%7B%7B id %7D%7D".replaceAll(" ", "%20") } },
      { request: { query: "?a=%7b{id}%7d" } },
      { request: { headers: [{ name: "X-A", value: "{{ id }}" }] } },
      { request: { headers: json, body: { a: "{{ id }}" } } },
      { request: {}, request_transforms: [encoded] },
    ]) {
      const { status, body } = await test({ ...more, destination_url: destination.url });
      expect(status, JSON.stringify(body)).toBe(400);
      expect(body.errors.request).toEqual([expect.stringContaining("must hold no expressions")]);
    }
    expect(destination.requests).toEqual([]);
  });

  it("calls no destination in the vault's network", async () => {
    const { status, body } = await test({ request: {}, destination_url: "https://localhost/" });
    expect(status, JSON.stringify(body)).toBeGreaterThanOrEqual(400);
    expect((await test({ request: {}, destination_url: "https://169.254.169.254/" })).status).toBe(400);
  });

  it.each([
    [["proxy:create"], 200],
    [["proxy:update"], 200],
    [["proxy:read", "proxy:delete", "reactor:create"], 403],
  ])("with the permissions %j returns %i", async (permissions, expected) => {
    const client = await tenant.application({ type: "management", permissions });
    expect((await test({ request: {} }, client)).status).toBe(expected);
  });

  it.each<[string, object, string]>([
    ["no request", {}, "request"],
    ["an invalid method", { request: { method: "STEAL" } }, "request.method"],
    ["a step of no kind", { request: {}, request_transforms: [{ type: "x" }] }, "request_transforms[0].type"],
    ["a mask of requests", { request: {}, request_transforms: [{ type: "mask" }] }, "request_transforms[0].type"],
    [
      "code that is too long",
      { request: {}, response_transforms: [{ code: " ".repeat(50_001) }] },
      "response_transforms[0].code",
    ],
    ["an invalid status", { request: {}, answer: { status: 100 } }, "answer.status"],
    ["an invalid header", { request: { headers: [{ name: "a b", value: "c" }] } }, "request.headers[0].name"],
    [
      "a line break in a header",
      { request: {}, answer: { status: 200, headers: [{ name: "a", value: "b\nc" }] } },
      "answer.headers[0].value",
    ],
    ["a destination that is not an address", { request: {}, destination_url: "example" }, "destination_url"],
  ])("rejects %s, naming the field", async (_, given, field) => {
    const { status, body } = await test(given);
    expect(status, JSON.stringify(body)).toBe(400);
    expect(Object.keys(body.errors)).toContain(field);
  });
});

describe("the failed runs of a proxy", () => {
  it("are listed with their kind, and are deleted with the proxy", async () => {
    const failing = code("console.log('of the request'); throw new Error('it failed');");
    const definition = { destination_url: "https://example.com", request_transform: failing };
    const { id, key } = await makeProxy(tenant, definition);
    const backEnd = await tenant.backEnd();
    const called = await backEnd("POST", "/proxy", { body: {}, headers: { "BT-PROXY-KEY": key } });
    expect(called.status).toBe(500);
    const { status, body } = await author("GET", `/proxies/${id}/failed-runs`);
    expect(status, JSON.stringify(body)).toBe(200);
    expect(body.data).toEqual([
      expect.objectContaining({ kind: "request_transform", console: [{ level: "log", text: "of the request" }] }),
    ]);
    expect((await backEnd("GET", `/proxies/${id}/failed-runs`)).status).toBe(403);
    await tenant.manage("DELETE", `/proxies/${id}`);
    expect((await author("GET", `/proxies/${id}/failed-runs`)).status).toBe(404);
  });
});
