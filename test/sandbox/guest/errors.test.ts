import { afterAll, describe, expect, test } from "vitest";
import { exporting, openSandbox } from "../support/open-sandbox.js";

const opened = openSandbox({ threads: 2 });
afterAll(() => opened[Symbol.asyncDispose]());

const sdk = "require('@basis-theory/basis-theory-reactor-formulas-sdk-js')";
const throwing = (expression: string) => opened.run(exporting(`async () => { throw ${expression}; }`));
const nothingSaid = [expect.stringContaining("Something went wrong.")];

describe("the published error classes", () => {
  test.each([
    ["AuthenticationError", 401, "Authentication Failed"],
    ["AuthorizationError", 403, "Forbidden"],
    ["BadRequestError", 400, "Bad Request"],
    ["InvalidPaymentMethodError", 402, "Invalid Payment Method"],
    ["InvalidReactorConfigurationError", 400, "Invalid Reactor Configuration"],
    ["RateLimitError", 429, "Rate Limit Exceeded"],
    ["ReactorRuntimeError", 500, "Reactor Runtime Error"],
    ["ServiceUnavailableError", 503, "Service Unavailable"],
  ])("%s is %i %s", async (name, status, detail) => {
    const error = { type: "published", name, status, detail, errors: { error: ["said"] } };
    expect(await throwing(`new (${sdk}.${name})('said')`)).toEqual({ kind: "threw", error, console: [] });
    const shown = await opened.value(
      exporting(
        `() => { const e = new (${sdk}.${name})('said'); return [e.name, e.message, e instanceof Error, e instanceof ${sdk}.ReactorError, ${sdk}.${name}.name, e.toRFC7807()]; }`,
      ),
    );
    expect(shown).toEqual([name, detail, true, true, name, { detail, status, errors: { error: ["said"] } }]);
  });

  test.each([
    ["text", "'a'", { error: ["a"] }],
    ["empty text", "''", { error: [""] }],
    ["a number", "5", { error: ["5"] }],
    ["a boolean", "false", { error: ["false"] }],
    ["undefined", "undefined", { error: nothingSaid }],
    ["null", "null", { error: nothingSaid }],
    ["an error", "new Error('inner')", { error: ["inner"] }],
    ["an error without a message", "new TypeError()", { error: ["TypeError"] }],
    ["a list", "['a', 1, { b: 2 }, new Error('c')]", { error: ["a", "1", '{"b":2}', "c"] }],
    [
      "an object",
      "{ a: 'b', c: ['d', 5], e: { f: [1] }, g: 7 }",
      { a: ["b"], c: ["d", "5"], e: ['{"f":[1]}'], g: ["7"] },
    ],
    [
      "an object that contains itself",
      "(() => { const o = { a: { b: 1 } }; o.a.self = o.a; return o; })()",
      { a: ['{"b":1,"self":"[Circular]"}'] },
    ],
    [
      "an object twice in one place",
      "(() => { const s = { x: 1 }; return { a: { p: s, q: s } }; })()",
      { a: ['{"p":{"x":1},"q":{"x":1}}'] },
    ],
    ["undefined in an object", "{ a: undefined }", { a: nothingSaid }],
    ["a BigInt", "{ a: { b: 1n } }", { error: nothingSaid }],
    ["a getter that throws", "{ get a() { throw 1; } }", { error: nothingSaid }],
  ])("normalise %s", async (_name, expression, errors) => {
    expect(await throwing(`new (${sdk}.BadRequestError)(${expression})`)).toMatchObject({
      kind: "threw",
      error: { type: "published", status: 400, errors },
    });
  });

  test("texts are cut where they would be endless", async () => {
    const outcome = await throwing(
      `new (${sdk}.BadRequestError)({ long: 'x'.repeat(1e6), many: Array(1000).fill('y') })`,
    );
    if (outcome.kind !== "threw" || outcome.error.type !== "published") throw new Error("it did not throw");
    expect(outcome.error.errors.long?.[0]?.length).toBeLessThan(5_000);
    expect(outcome.error.errors.many).toHaveLength(100);
  });

  test("classes made from them count as them, and a changed status does not pass", async () => {
    const own = await opened.run(
      `class Mine extends ${sdk}.RateLimitError { constructor() { super('slow'); this.name = 'Mine'; } } module.exports = () => { throw new Mine(); };`,
    );
    expect(own).toMatchObject({
      error: { type: "published", name: "RateLimitError", status: 429, detail: "Rate Limit Exceeded" },
    });
    const forged = await throwing(`Object.assign(new (${sdk}.BadRequestError)('x'), { status: 200, message: 'fine' })`);
    expect(forged).toMatchObject({ error: { type: "published", status: 400, detail: "Bad Request" } });
  });
});

describe("CustomHttpResponseError", () => {
  test("is given as it is", async () => {
    expect(
      await throwing(
        `new (${sdk}.CustomHttpResponseError)({ status: 418, headers: { 'X-A': 'b', n: 5 }, body: { a: [1, null] } })`,
      ),
    ).toEqual({
      kind: "threw",
      error: { type: "custom_http_response", status: 418, headers: { "X-A": "b", n: "5" }, body: { a: [1, null] } },
      console: [],
    });
    expect(await throwing(`new (${sdk}.CustomHttpResponseError)({ status: 204 })`)).toMatchObject({
      error: { status: 204, headers: {}, body: null },
    });
  });

  test("shows what it holds", async () => {
    expect(
      await opened.value(
        exporting(
          `() => new (${sdk}.CustomHttpResponseError)({ status: 201, headers: { a: 'b' }, body: 'c' }).toResponseBody()`,
        ),
      ),
    ).toEqual({ status: 201, headers: { a: "b" }, body: "c" });
  });

  test.each(["99", "600", "200.5", "'200'", "undefined", "NaN"])(
    "a status of %s is an error of its own",
    async (status) => {
      expect(await throwing(`new (${sdk}.CustomHttpResponseError)({ status: ${status} })`)).toMatchObject({
        error: { type: "other", errors: { error: ["status must be a whole number from 100 to 599"] } },
      });
    },
  );

  test("a status that is changed later to what cannot be is an error too", async () => {
    expect(
      await throwing(`Object.assign(new (${sdk}.CustomHttpResponseError)({ status: 200 }), { status: 7 })`),
    ).toMatchObject({ kind: "threw", error: { type: "other", status: 500 } });
  });
});

describe("anything else that is thrown is a runtime error", () => {
  test.each([
    ["an error", "new Error('why')", ["why"]],
    [
      "an error of the engine",
      "(() => { try { null.x; } catch (e) { return e; } })()",
      ["cannot read property 'x' of null"],
    ],
    ["text", "'why'", ["why"]],
    ["a number", "5", ["5"]],
    ["an object", "{ a: 1 }", ['{"a":1}']],
    ["undefined", "undefined", nothingSaid],
    ["null", "null", nothingSaid],
  ])("%s", async (_name, expression, error) => {
    expect(await throwing(expression)).toEqual({
      kind: "threw",
      error: { type: "other", status: 500, detail: "Reactor Runtime Error", errors: { error } },
      console: [],
    });
  });

  test.each([
    ["thrown at once", "() => { throw new Error('x'); }"],
    ["a rejected promise", "() => Promise.reject(new Error('x'))"],
    ["thrown after waiting", "async () => { await new Promise((r) => setTimeout(r, 5)); throw new Error('x'); }"],
  ])("%s", async (_name, code) => {
    expect(await opened.thrown(exporting(code))).toEqual(["x"]);
  });
});
