import { afterAll, describe, expect, test } from "vitest";
import { exporting, openSandbox } from "./support/open-sandbox.js";

const opened = openSandbox();
const { run, value, thrown, sandbox } = opened;
afterAll(() => opened[Symbol.asyncDispose]());

describe("the argument and the result of a function", () => {
  test.each([
    ["an async function", "async function (req) { return req.args.a + 1; }"],
    ["a plain function", "function (req) { return req.args.a + 1; }"],
    ["an arrow function", "req => req.args.a + 1"],
    ["a promise", "req => Promise.resolve(req.args.a + 1)"],
    ["a thenable", "req => ({ then: (resolve) => resolve(req.args.a + 1) })"],
    ["a value after a timer", "req => new Promise((resolve) => setTimeout(resolve, 5, req.args.a + 1))"],
    ["the default export of a compiled module", "{ __esModule: true, default: (req) => req.args.a + 1 }"],
  ])("%s", async (_name, code) => {
    expect(await value(exporting(code), { args: { args: { a: 41 } } })).toBe(42);
  });

  test.each([
    ["null", "null", null],
    ["undefined", "undefined", null],
    ["a function", "() => 1", null],
    ["a date", "new Date(0)", "1970-01-01T00:00:00.000Z"],
    ["a buffer", "Buffer.from('ab')", { type: "Buffer", data: [97, 98] }],
    ["text beyond ASCII", "'Zürich ✓ 😀 \\u0000 \\ud800'", "Zürich ✓ 😀 \u0000 \ud800"],
    ["numbers that JSON has no word for", "[NaN, Infinity, -0]", [null, null, 0]],
    ["a property named __proto__", 'JSON.parse(\'{"__proto__":{"a":1}}\')', JSON.parse('{"__proto__":{"a":1}}')],
    ["nested data", "({ a: [{ b: [] }, {}], c: { d: undefined } })", { a: [{ b: [] }, {}], c: {} }],
  ])("%s is returned as JSON represents it", async (_name, expression, expected) => {
    expect(await value(exporting(`() => (${expression})`))).toEqual(expected);
  });

  test("the whole request object arrives", async () => {
    const args = { args: { body: { a: [1, null, true, "ü"] } }, configuration: { KEY: "v" } };
    expect(await value(exporting("req => req"), { args })).toEqual(args);
  });

  test("bt exists with an application only", async () => {
    const code = exporting("req => ['bt' in req, typeof req.bt]");
    expect(await value(code)).toEqual([false, "undefined"]);
    expect(await value(code, { hosts: { bt: async () => null } })).toEqual([true, "object"]);
  });
});

describe("warm instances", () => {
  const counting = "let calls = 0; module.exports = () => ++calls;";

  test("keep the code's module-level state", async () => {
    const key = { functionId: "counting" };
    expect([await value(counting, { key }), await value(counting, { key }), await value(counting, { key })]).toEqual([
      1, 2, 3,
    ]);
  });

  test.each([
    ["tenants", { tenantId: "another tenant" }],
    ["functions", { functionId: "another function" }],
    ["applications", { applicationId: "another application" }],
    ["configurations", { configurationVersion: 2 }],
    ["kinds", { kind: "request_transform" as const }],
  ])("are not shared between %s", async (_name, key) => {
    expect(await value(`/* ${_name} */ ${counting}`)).toBe(1);
    expect(await value(`/* ${_name} */ ${counting}`, { key })).toBe(1);
  });

  test("are not shared between versions of the code", async () => {
    expect(await value(`${counting} // a`)).toBe(1);
    expect(await value(`${counting} // b`)).toBe(1);
  });

  test("are not shared between runs with and without an application", async () => {
    expect(await value(`${counting} // bt`)).toBe(1);
    expect(await value(`${counting} // bt`, { hosts: { bt: async () => null } })).toBe(1);
  });

  test("serve one call at a time, and concurrent calls get their own instances", async () => {
    const code =
      "let calls = 0; module.exports = async () => { const n = ++calls; await new Promise(r => setTimeout(r, 1000)); return [n, calls]; };";
    const results = await Promise.all(Array.from({ length: 20 }, () => value(code)));
    for (const result of results) expect(result).toEqual([1, 1]);
  });

  test("draw different random numbers, although all start from one snapshot", async () => {
    const code = exporting(
      "async () => { await new Promise(r => setTimeout(r, 40)); return [Math.random(), require('crypto').randomBytes(8).toString('hex'), require('uuid').v4(), require('lodash').random(1e15), require('crypto').randomUUID()]; }",
    );
    const drawn = await Promise.all(Array.from({ length: 3 }, () => value(code)));
    expect(new Set(drawn.flat()).size).toBe(15);
  });

  test("are kept after a thrown error, and dropped after a failure", async () => {
    const code =
      "let calls = 0; module.exports = ({ args }) => { calls++; if (args.throw) throw new Error('thrown'); if (args.loop) for (;;); return calls; };";
    const key = { functionId: "sometimes fails" };
    const call = (args: Record<string, boolean>) => run(code, { key, args: { args }, limits: { wallMs: 100 } });
    await call({});
    await call({ throw: true });
    expect(await call({})).toMatchObject({ kind: "returned", value: 3 });
    expect(await call({ loop: true })).toMatchObject({ kind: "failed", reason: "timeout" });
    expect(await call({})).toMatchObject({ kind: "returned", value: 1 });
  });
});

describe("the console", () => {
  test("is kept with the run, line by line with its level", async () => {
    const outcome = await run(
      exporting(
        "req => { console.log('a', { b: [1] }, 2n); console.warn('%s-%d', 'x', 5); console.error(new Error('seen').message); console.debug(); console.info(null); return 1; }",
      ),
    );
    expect(outcome.console).toEqual([
      { level: "log", text: "a { b: [ 1 ] } 2n" },
      { level: "warn", text: "x-5" },
      { level: "error", text: "seen" },
      { level: "debug", text: "" },
      { level: "info", text: "null" },
    ]);
  });

  test("is included in errors and time-outs too, and starts empty in each run", async () => {
    const code = exporting(
      "async ({ args }) => { console.log(args.n); if (args.n === 1) throw new Error('x'); if (args.n === 2) await new Promise(() => {}); }",
    );
    for (const n of [1, 2, 3]) {
      const outcome = await run(code, { args: { args: { n } }, limits: { wallMs: 200 } });
      expect(outcome.console).toEqual([{ level: "log", text: String(n) }]);
    }
  });

  test.each([
    ["many lines", "for (let i = 0; i < 100000; i++) console.log('line ' + i)"],
    ["long lines", "for (let i = 0; i < 100; i++) console.log('x'.repeat(1e6))"],
    ["empty lines", "for (let i = 0; i < 100000; i++) console.log()"],
    [
      "an object that grows without end",
      "const o = {}; for (let i = 0; i < 1e5; i++) o['key' + i] = i; for (let i = 0; i < 50; i++) console.log(o)",
    ],
  ])("is limited: %s", async (_name, code) => {
    const outcome = await run(exporting(`() => { ${code}; return 'done'; }`), { limits: { consoleBytes: 4_096 } });
    expect(outcome.kind).toBe("returned");
    const characters = outcome.console.reduce((sum, { text }) => sum + text.length, 0);
    expect(characters).toBeLessThanOrEqual(4_096 + 100);
    expect(outcome.console.at(-1)).toEqual({ level: "warn", text: "More was written than is kept." });
  });
});

describe("code without a function", () => {
  test.each([
    ["nothing exported", "const a = 1;"],
    ["an object without functions", "module.exports = { a: 1 };"],
    ["several functions", "exports.a = () => 1; exports.b = () => 2;"],
    ["a module without exports", "import { v4 } from 'uuid';"],
    ["a module that exports no function", "export default 5;"],
    ["null", "module.exports = null;"],
    ["exports replaced", "exports = () => 1;"],
  ])("%s", async (_name, code) => {
    expect(await run(code)).toMatchObject({ kind: "failed", reason: "not_a_function", retryable: false });
  });

  test("an error at the top level is the error of the run, every time", async () => {
    const code = "throw new Error('at the top'); module.exports = () => 1;";
    expect(await thrown(code)).toEqual(["at the top"]);
    expect(await thrown(code)).toEqual(["at the top"]);
  });
});

describe("limits on size", () => {
  test("arguments", async () => {
    const args = { args: { body: "x".repeat(2_000) } };
    expect(await run(exporting("req => 1"), { args, limits: { argsBytes: 1_000 } })).toMatchObject({
      reason: "args_too_large",
      retryable: false,
    });
    expect(await value(exporting("req => 1"), { args, limits: { argsBytes: 3_000 } })).toBe(1);
  });

  test.each([
    ["text", "'x'.repeat(2000)"],
    ["text that is longer in UTF-8", "'ü'.repeat(600)"],
    [
      "the body of a custom response",
      "(() => { const E = require('@basis-theory/basis-theory-reactor-formulas-sdk-js').CustomHttpResponseError; throw new E({ status: 200, body: 'x'.repeat(2000) }); })()",
    ],
  ])("results: %s", async (_name, expression) => {
    const outcome = await run(exporting(`() => ${expression}`), { limits: { resultBytes: 1_000 } });
    expect(outcome).toMatchObject({ kind: "failed", reason: "result_too_large", retryable: false });
  });

  test("a body of 5 MB is accepted by a transform, and not by a reactor", async () => {
    const body = { items: Array.from({ length: 50_000 }, (_, id) => ({ id, text: "y".repeat(75) })) };
    const options = { args: { args: { body } }, limits: { argsBytes: 10_000_000 } };
    const transformed = await run(exporting("({ args }) => ({ body: args.body })"), {
      ...options,
      key: { kind: "request_transform" },
    });
    expect(transformed).toMatchObject({ kind: "returned", value: { body } });
    expect(await run(exporting("({ args }) => args"), options)).toMatchObject({ reason: "result_too_large" });
  });

  test("rejects code above 50,000 characters", async () => {
    expect(await run(`${exporting("() => 1")}${" ".repeat(50_000)}`)).toMatchObject({ reason: "does_not_compile" });
    expect(await value(`${exporting("() => 1")}${" ".repeat(49_000)}`)).toBe(1);
  });
});

describe("a caller that disconnects", () => {
  test.each([
    ["while the code waits", "() => new Promise(() => setInterval(() => {}, 1_000))"],
    ["while the code runs", "() => { for (;;); }"],
  ])("%s", async (_name, code) => {
    const reason = new Error("the caller disconnected");
    const controller = new AbortController();
    const pending = run(exporting(code), { signal: controller.signal, key: { tenantId: _name } });
    setTimeout(() => controller.abort(reason), 100);
    await expect(pending).rejects.toBe(reason);
    // The threads are free again long before the deadline of 30 s.
    const others = Array.from({ length: 4 }, (_, index) =>
      run(exporting("() => 1"), { key: { tenantId: `${index}` } }),
    );
    expect((await Promise.all(others)).map((outcome) => outcome.kind)).toEqual(Array(4).fill("returned"));
    expect(sandbox.metrics.threadsEnded).toBe(0);
  });

  test("before the run begins", async () => {
    await expect(run(exporting("() => 1"), { signal: AbortSignal.abort(new Error("too late")) })).rejects.toThrow(
      "too late",
    );
  });
});
