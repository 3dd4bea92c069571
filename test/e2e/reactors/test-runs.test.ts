import fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";
import { newMember } from "../../support/member.js";
import type { RestClient } from "../../support/rest.js";
import { newTenant, type TestTenant } from "../../support/tenant.js";
import { signedIn } from "../../support/test-browser.js";

const PRELUDE = "const errors = require('@basis-theory/basis-theory-reactor-formulas-sdk-js');";

let tenant: TestTenant;
let author: RestClient & { readonly id: string };

/** A caller who may write reactors may test code: no permission on tokens is needed. */
beforeAll(async () => {
  tenant = await newTenant();
  author = await tenant.application({ type: "management", permissions: ["reactor:create", "reactor:read"] });
});

const test = (body: object, client: RestClient = author) => client("POST", "/reactors/test", { body });
const running = (statements: string) => `module.exports = async function (req) { ${statements} };`;

describe("a test run of a reactor", () => {
  it("shows what the code returned, its console output, and its resource use", async () => {
    const { status, body } = await test({
      code: running(
        "console.log('amount', req.args.amount); console.error({ key: req.configuration.KEY }); return { raw: { twice: req.args.amount * 2 } };",
      ),
      args: { amount: 21 },
      configuration: { KEY: "of the test" },
    });
    expect(status, JSON.stringify(body)).toBe(200);
    expect(body).toEqual({
      returned: { raw: { twice: 42 } },
      console: [
        { level: "log", text: "amount 21" },
        { level: "error", text: "{ key: 'of the test' }" },
      ],
      duration_ms: expect.any(Number),
      memory_bytes: expect.any(Number),
      calls: [],
      warnings: [],
    });
    expect(body.memory_bytes).toBeGreaterThan(100_000);
  });

  it("stores only a log row", async () => {
    const { body: before } = await author("GET", "/reactors");
    await test({ code: running("return { raw: 1, tokenize: { a: 'secret coat' } };") });
    expect((await author("GET", "/reactors")).body.data).toEqual(before.data);
    const { body: log } = await tenant.manage("GET", "/logs?entity_type=reactor&size=20");
    expect(log.data.filter(({ operation }: { operation: string }) => operation === "test")[0]).toMatchObject({
      ...{ actor_id: author.id, actor_type: "application", entity_type: "reactor" },
    });
  });

  it("gives each run its own instance", async () => {
    const code = `let runs = 0; ${running("return { raw: ++runs };")}`;
    expect((await test({ code })).body.returned).toEqual({ raw: 1 });
    expect((await test({ code })).body.returned).toEqual({ raw: 1 });
  });

  it("warns of what callers would not get", async () => {
    const warningsOf = async (statements: string, args: unknown = {}) =>
      (await test({ code: running(statements), args })).body.warnings;
    expect(await warningsOf("return { ok: 1 };")).toEqual([
      "Callers get {}: of what code returns they get raw, and the tokens made of tokenize.",
      "Callers do not get: ok. Put it into raw.",
    ]);
    expect(await warningsOf("return { raw: 1, tokenize: 2 };")).toEqual([
      "A test makes no tokens. Callers get tokens in place of tokenize.",
    ]);
    expect(await warningsOf("return { raw: req.args.card };", { card: "{{ 123 }}" })).toEqual([
      "The expressions in args reached the code as they are. A reactor that is called gets the values of the tokens.",
    ]);
  });

  describe("with a token", () => {
    const card = { number: "4242424242424242", expiration_month: 12, expiration_year: 2030 };
    const storeCard = async () => {
      const backEnd = await tenant.backEnd();
      return String((await backEnd("POST", "/tokens", { body: { type: "card", data: card } })).body.id);
    };
    const ECHO = running("console.log(req.args); return { raw: req.args };");
    const tryAs = async (role: Parameters<typeof newMember>[1], args: unknown, more: object = {}) => {
      const browser = await signedIn(tenant.id, await newMember(tenant, role));
      return browser.call("ReactorService/TestReactor", { ...{ code: ECHO, args, evaluateTokens: true }, ...more });
    };

    it("gives the code what the person reads, masked, with a row for each token and for each refused test", async () => {
      const id = await storeCard();
      const args = { number: `{{ ${id} | json: "$.number" }}`, year: `{{ ${id} | json: "$.expiration_year" }}` };
      const { status, body } = await tryAs("ADMIN", args);
      expect([status, body.returned]).toEqual([200, { raw: { number: "XXXXXXXXXXXX4242", year: 2030 } }]);
      expect(JSON.stringify(body)).not.toContain(card.number);
      expect(body.warnings).toBeUndefined();
      const { body: read } = await tenant.manage("GET", `/logs?entity_type=card&entity_id=${id}&operation=read`);
      expect(read.data[0]).toMatchObject({ actor_type: "user", transform: "mask", outcome: "allowed" });
      const tests = async () => {
        const { body: log } = await tenant.manage("GET", "/logs?entity_type=reactor&size=100");
        return log.data.filter(({ operation }: { operation: string }) => operation === "test").length;
      };
      const before = await tests();
      expect((await tryAs("DEVELOPER", args)).status).toBe(403);
      expect(await tests()).toBe(before + 1);
    });

    it("sends no value out, and leaves expressions as they are unless it is asked to evaluate them", async () => {
      const args = { card: `{{ ${await storeCard()} }}` };
      const outside = await tryAs("ADMIN", args, { outside: { network: true } });
      expect([outside.status, JSON.stringify(outside.body)]).toEqual([400, expect.stringContaining("outside.network")]);
      expect((await tryAs("ADMIN", args, { evaluateTokens: false })).body.returned).toEqual({ raw: args });
    });

    it("tells an application that reads no tokens nothing of them", async () => {
      const args = { card: `{{ ${await storeCard()} | json: "$.number" }}` };
      const told = async (given: object) => {
        const { status, body } = await test({ code: ECHO, args: given, evaluate_tokens: true });
        return [status, body.code, body.detail];
      };
      expect(await told(args)).toEqual([403, "permission_denied", expect.any(String)]);
      expect(await told({ card: "{{ 01a22193-0000-7000-8000-000000000000 }}" })).toEqual(await told(args));
    });

    it("gives the code the arguments that a call gives it, with the same masked values", async () => {
      const id = await storeCard();
      const made = await tenant.manage("POST", "/reactors", { body: { name: "Echo", code: ECHO } });
      const rule = {
        priority: 1,
        container: "/",
        transform: "mask",
        permissions: ["token:use"],
        description: "Masked",
      };
      const masked = await tenant.application({ type: "private", rules: [rule] });
      const admin = await signedIn(tenant.id, await newMember(tenant, "ADMIN"));
      const filters = ['| json: "$.number"', '| json: "$.expiration_year"', "| json: '$.none'", "| no_such_filter"];
      const expressions = [`{{${id}}}`, ...filters.map((filter) => `{{ ${id} ${filter} }}`)];
      const text = fc.oneof(
        fc.constantFrom(...expressions, ...expressions.map((one) => `<${one}>`)),
        fc.constantFrom("{{ 01a22193-0000-7000-8000-000000000000 }}", "{{ nothing"),
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
      await fc.assert(
        fc.asyncProperty(fc.dictionary(fc.string({ maxLength: 3 }), tree), async (args) => {
          const tried = await admin.call("ReactorService/TestReactor", { code: ECHO, args, evaluateTokens: true });
          const called = await masked("POST", `/reactors/${made.body.id}/react`, { body: { args } });
          expect(JSON.stringify(tried.body)).not.toContain(card.number);
          expect([tried.status < 300, JSON.stringify(tried.body)]).toEqual([called.status < 300, expect.any(String)]);
          if (called.status < 300) expect(tried.body.returned.raw).toEqual(called.body.raw);
        }),
        { numRuns: 40 },
      );
    });
  });

  describe("failing code", () => {
    it("shows the error with its line and column, and the output before it", async () => {
      const code = "module.exports = async function (req) {\n  console.log('before');\n  return req.args.no.such;\n};";
      const { status, body } = await test({ code, args: {} });
      expect(status).toBe(200);
      expect(body).toMatchObject({
        error: { status: 500, detail: "Reactor Runtime Error", position: { line: 3 } },
        console: [{ level: "log", text: "before" }],
      });
      expect(body.error.position.column).toBe(10);
      expect(body.returned).toBeUndefined();
    });

    it.each<[string, string, object]>([
      [
        "a published error, with its place too",
        `${PRELUDE}\nmodule.exports = () => { throw new errors.BadRequestError({ number: ['is wrong'] }); };`,
        { status: 400, errors: { number: ["is wrong"] }, position: { line: 2 } },
      ],
      ["code that does not compile", "module.exports = () => {\n  let = ;\n};", { status: 422, position: { line: 2 } }],
      ["code that exports nothing", "const a = 1;", { status: 422, detail: "Invalid Reactor Formula" }],
      ["a result that is not a object", running("return 'text';"), { status: 500, detail: "Reactor Runtime Error" }],
      [
        "too much memory",
        running("const all = []; for (;;) all.push(new Array(1e5).fill(Math.random()));"),
        { status: 500, errors: { error: ["The code used too much memory."] } },
      ],
    ])("shows %s", async (_, code, error) => {
      const { status, body } = await test({ code });
      expect({ status, error: body.error }).toMatchObject({ status: 200, error });
    });

    it("shows the code's own response as such", async () => {
      const code = `${PRELUDE} module.exports = () => { throw new errors.CustomHttpResponseError({ status: 409, headers: { "X-Own": "1" }, body: { a: 1 } }); };`;
      const { body } = await test({ code });
      expect(body).toMatchObject({
        response: { status: 409, headers: [{ name: "X-Own", value: "1" }], body: { a: 1 } },
      });
      expect(body.error).toBeUndefined();
    });
  });

  describe("with stubbed responses", () => {
    it("returns those for fetch by method and address, and shows the requests", async () => {
      const code = running(`
        const first = await (await fetch("https://example.com/a?b=1")).json();
        const second = await fetch("https://example.com/other", { method: "POST", body: "x" });
        return { raw: { first, status: second.status, text: await second.text() } };`);
      const fetch = [
        { method: "POST", url: "https://example.com/*", status: 402, body: "declined" },
        { url: "https://example.com/a*", body: { made: "up" }, headers: { "X-A": "1" } },
      ];
      const { body } = await test({ code, outside: { fetch } });
      expect(body.returned).toEqual({ raw: { first: { made: "up" }, status: 402, text: "declined" } });
      expect(body.calls).toEqual([
        { to: "fetch", method: "GET", url: "https://example.com/a?b=1", answered_by: "test", status: 200 },
        { to: "fetch", method: "POST", url: "https://example.com/other", answered_by: "test", status: 402 },
      ]);
    });

    it("fails a request without a stub, and says what to do", async () => {
      const { body } = await test({ code: running("await fetch('https://example.com/'); return {};") });
      expect(JSON.stringify(body.error)).toContain("give one in outside.fetch, or set outside.network");
      expect(body.calls).toEqual([{ to: "fetch", method: "GET", url: "https://example.com/", answered_by: "nothing" }]);
    });

    it("reaches no address that other code cannot reach, with the network allowed", async () => {
      const { body } = await test({
        code: running("await fetch('https://169.254.169.254/latest/meta-data'); return {};"),
        outside: { network: true },
      });
      expect(body.error).toMatchObject({ status: 500 });
      expect(body.calls).toEqual([expect.objectContaining({ to: "fetch", answered_by: "network" })]);
      expect(body.calls[0].status).toBeUndefined();
    });

    it("returns those of req.bt in turn, repeating the last, with refusals as errors", async () => {
      const code = running(`
        const made = [await req.bt.tokens.create({ data: 1 }), await req.bt.tokens.create({ data: 2 }), await req.bt.tokens.create({ data: 3 })];
        const refused = await req.bt.tokens.retrieve("a").catch((error) => error.status);
        const unanswered = await req.bt.detokenize({}).catch((error) => error.message);
        return { raw: { made: made.map(({ id }) => id), refused, unanswered } };`);
      const bt = [
        { method: "tokens.create", body: { id: "one" } },
        { method: "tokens.create", body: { id: "two" } },
        { method: "tokens.retrieve", status: 404, body: { detail: "Not Found" } },
      ];
      const { body } = await test({ code, outside: { bt } });
      expect(body.returned.raw).toMatchObject({ made: ["one", "two", "two"], refused: 404 });
      expect(body.returned.raw.unanswered).toContain("outside.bt");
      expect(body.calls.map((call: { answered_by: string }) => call.answered_by)).toEqual([
        ...["test", "test", "test", "test", "nothing"],
      ]);
    });

    it("has req.bt only if the test asks for it", async () => {
      const code = running("return { raw: typeof req.bt };");
      expect((await test({ code })).body.returned).toEqual({ raw: "undefined" });
      expect((await test({ code, outside: { has_bt: true } })).body.returned).toEqual({ raw: "object" });
    });
  });

  it.each([
    [["reactor:create"], 200],
    [["reactor:update"], 200],
    [["reactor:read", "reactor:delete", "proxy:create"], 403],
  ])("with the permissions %j returns %i", async (permissions, expected) => {
    const client = await tenant.application({ type: "management", permissions });
    const { status, body } = await test({ code: running("return { raw: 1 };") }, client);
    expect(status, JSON.stringify(body)).toBe(expected);
    if (expected === 403) expect(JSON.stringify(body)).toContain("reactor:create");
  });

  it.each<[string, object, string]>([
    ["no code", { args: {} }, "code"],
    ["code that is too long", { code: `// ${"x".repeat(50_000)}` }, "code"],
    ["code that is not a string", { code: 1 }, "code"],
    ["a response without an address", { outside: { fetch: [{ status: 200 }] } }, "outside.fetch[0].url"],
    ["an invalid status", { outside: { fetch: [{ url: "*", status: 99 }] } }, "outside.fetch[0].status"],
    ["an invalid method of bt", { outside: { bt: [{ method: "tokens.steal" }] } }, "outside.bt[0].method"],
    ["configuration that is not a string", { configuration: { a: { b: 1 } } }, "configuration"],
    ["too many responses", { outside: { fetch: Array.from({ length: 101 }, () => ({ url: "*" })) } }, "outside.fetch"],
  ])("rejects %s, naming the field", async (_, given, field) => {
    const { status, body } = await test({ ...(field === "code" ? {} : { code: running("return {};") }), ...given });
    expect(status, JSON.stringify(body)).toBe(400);
    expect(Object.keys(body.errors).some((name) => name.startsWith(field))).toBe(true);
  });
});
