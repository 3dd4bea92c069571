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
    const position = { line: 1, column: expect.any(Number) };
    const error = { type: "published", name, status, detail, errors: { error: ["said"] }, position };
    expect(await throwing(`new (${sdk}.${name})('said')`)).toEqual({
      kind: "threw",
      error,
      console: [],
      usage: expect.anything(),
    });
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

  test("texts are truncated", async () => {
    const outcome = await throwing(
      `new (${sdk}.BadRequestError)({ long: 'x'.repeat(1e6), many: Array(1000).fill('y') })`,
    );
    if (outcome.kind !== "threw" || outcome.error.type !== "published") throw new Error("it did not throw");
    expect(outcome.error.errors.long?.[0]?.length).toBeLessThan(5_000);
    expect(outcome.error.errors.many).toHaveLength(100);
  });

  test("subclasses count as their parents, and a changed status is ignored", async () => {
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
  test("is returned unchanged", async () => {
    expect(
      await throwing(
        `new (${sdk}.CustomHttpResponseError)({ status: 418, headers: { 'X-A': 'b', n: 5 }, body: { a: [1, null] } })`,
      ),
    ).toEqual({
      kind: "threw",
      error: { type: "custom_http_response", status: 418, headers: { "X-A": "b", n: "5" }, body: { a: [1, null] } },
      console: [],
      usage: expect.anything(),
    });
    expect(await throwing(`new (${sdk}.CustomHttpResponseError)({ status: 204 })`)).toMatchObject({
      error: { status: 204, headers: {}, body: null },
    });
  });

  test("shows its fields", async () => {
    expect(
      await opened.value(
        exporting(
          `() => new (${sdk}.CustomHttpResponseError)({ status: 201, headers: { a: 'b' }, body: 'c' }).toResponseBody()`,
        ),
      ),
    ).toEqual({ status: 201, headers: { a: "b" }, body: "c" });
  });

  test.each(["99", "600", "200.5", "'200'", "undefined", "NaN"])("a status of %s has its own error", async (status) => {
    expect(await throwing(`new (${sdk}.CustomHttpResponseError)({ status: ${status} })`)).toMatchObject({
      error: { type: "other", errors: { error: ["status must be a whole number from 100 to 599"] } },
    });
  });

  test("with a status that is later made invalid is an error too", async () => {
    expect(
      await throwing(`Object.assign(new (${sdk}.CustomHttpResponseError)({ status: 200 }), { status: 7 })`),
    ).toMatchObject({ kind: "threw", error: { type: "other", status: 500 } });
  });
});

describe("any other thrown value is a runtime error", () => {
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
    const position = expression.startsWith("new") ? { line: 1, column: 42 } : undefined;
    expect(await throwing(expression)).toMatchObject({
      kind: "threw",
      error: {
        type: "other",
        status: 500,
        detail: "Reactor Runtime Error",
        errors: { error },
        ...(position && { position }),
      },
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

describe("the location of an error", () => {
  const positionOf = async (code: string) => {
    const outcome = await opened.run(code);
    if (outcome.kind === "threw" && outcome.error.type !== "custom_http_response") return outcome.error.position;
    return outcome.kind === "failed" ? outcome.problem : undefined;
  };

  test.each([
    ["in the first line, after our wrapper", "module.exports = () => { throw new Error('x'); };", 1, "Error('x')"],
    ["at the top level", "const a = 1;\n  throw new Error('x');", 2, "Error('x')"],
    ["after waiting", "module.exports = async () => {\n  await null;\n  null.x;\n};", 3, "null.x"],
    ["by the engine", "module.exports = () => {\n  const o = {};\n  return o.a.b;\n};", 3, "o.a.b"],
    [
      "in a callback",
      "module.exports = () =>\n  [1].map(() => {\n    throw new RangeError('x');\n  });",
      3,
      "RangeError('x')",
    ],
    [
      "in a package that the code calls",
      "module.exports = () => {\n  require('uuid').stringify([]);\n};",
      2,
      "stringify([])",
    ],
    [
      "of a published class",
      "const sdk = require('@basis-theory/basis-theory-reactor-formulas-sdk-js');\nmodule.exports = () => {\n  throw new sdk.BadRequestError('x');\n};",
      3,
      "sdk.BadRequestError('x')",
    ],
    ["in an ES module", "export default () => { throw new Error('x'); };", 1, "Error('x')"],
    [
      "in the second line of an ES module",
      "import { v4 } from 'uuid';\nexport default () => { v4(); null.x; };",
      2,
      "null.x",
    ],
    ["below an interpreter line", "#!/usr/bin/env node\nmodule.exports = () => { null.x; };", 2, "null.x"],
    ["code that does not compile", "const a = 1;\nconst b = ;", 2, ";"],
  ])("%s", async (_name, code, line, text) => {
    const found = await positionOf(code);
    expect(found?.line).toBe(line);
    const shown = code.split("\n")[line - 1]?.slice((found?.column ?? 0) - 1);
    expect(shown?.startsWith(text), shown).toBe(true);
  });

  test.each([
    ["a value without a stack", "module.exports = () => { throw 'x'; };"],
    [
      "an error whose stack throws",
      "module.exports = () => { throw Object.defineProperty(new Error('x'), 'stack', { get() { throw 1; } }); };",
    ],
    [
      "a stack of elsewhere",
      "module.exports = () => { throw Object.assign(new Error('x'), { stack: 'at other.js:1:2' }); };",
    ],
    [
      "a stack that is not a number",
      "module.exports = () => { throw Object.assign(new Error('x'), { stack: 'function.js:99999999999:1' }); };",
    ],
  ])("is unknown for %s", async (_name, code) => {
    expect(await positionOf(code)).toBeUndefined();
  });

  test("is the same on the console", async () => {
    const lines = async (code: string) => {
      const outcome = await opened.run(code);
      return outcome.console.map(({ text }) => /function\.js:(\d+:\d+)/.exec(text)?.[1]);
    };
    expect(
      await lines("module.exports = () => { console.error(new Error('x')); console.log(new Error('y').stack); };"),
    ).toEqual(["1:44", "1:73"]);
    expect(await lines("export default () => { console.error(new Error('x')); };")).toEqual(["1:42"]);
  });
});
