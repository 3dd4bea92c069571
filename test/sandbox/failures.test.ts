// Computes: 11 s
import { afterAll, describe, expect, test } from "vitest";
import type { RunOutcome } from "../../src/sandbox/run.js";
import { exporting, openSandbox, tenant } from "./support/open-sandbox.js";

/**
 * Code that exhausts resources: time, memory, the engine itself. Each case runs while another tenant calls the same
 * sandbox and must get its responses as usual.
 */
const opened = openSandbox({
  kill: { graceMs: 300 },
  breaker: { byFunction: { failures: 1_000, ms: 1 }, byTenant: { failures: 1_000, ms: 1 } },
});
afterAll(() => opened[Symbol.asyncDispose]());

const limits = { wallMs: 250, loadMs: 250 };
/** Runs the code as one tenant while another calls, which gets all its responses; returns the outcome of the code. */
async function beside(code: string, name: string): Promise<RunOutcome> {
  let isOver = false;
  const failing = opened.run(code, { key: { tenantId: name, functionId: name }, limits }).finally(() => {
    isOver = true;
  });
  const other = { ...tenant, tenantId: "the other tenant" };
  while (!isOver) {
    const outcome = await opened.run(exporting("({ args }) => args.n"), { key: other, args: { args: { n: 7 } } });
    expect(outcome).toMatchObject({ kind: "returned", value: 7 });
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  return await failing;
}

describe("code that does not end", () => {
  test.each([
    ["a loop", "() => { for (;;); }"],
    ["a loop after waiting", "async () => { await 1; for (;;); }"],
    ["a loop in toJSON", "() => ({ toJSON() { for (;;); } })"],
    ["a loop in the getter of then", "() => ({ get then() { for (;;); } })"],
    ["a loop in a thrown object's getter", "() => { throw { get message() { for (;;); } }; }"],
    ["microtasks without end", "() => { const again = () => Promise.resolve().then(again); return again(); }"],
    ["timers without end", "() => new Promise(() => { const again = () => setTimeout(again, 0); again(); })"],
    ["an interval without end", "() => new Promise(() => setInterval(() => {}, 1))"],
    ["a catastrophic regular expression", "() => /^(a+)+$/.test('a'.repeat(40) + '!')"],
    ["a long walk of native code", "() => { const a = []; a.length = 2 ** 32 - 1; return a.indexOf(1); }"],
    ["a generator that never ends", "() => { function* g() { for (;;) yield 1; } return [...g()].length; }"],
    ["sorting with a comparison that loops", "() => [2, 1].sort(() => { for (;;); })"],
    ["catching the interruption", "() => { for (;;) { try { for (;;); } catch {} finally { for (;;); } } }"],
  ])("%s ends at its deadline", async (name, code) => {
    expect(await beside(exporting(code), name)).toMatchObject({ kind: "failed", reason: "timeout", retryable: false });
    expect(opened.sandbox.metrics.threadsEnded).toBe(0);
  });

  test.each([
    ["a promise that never settles", "() => new Promise(() => {})"],
    ["a thenable that never settles", "() => ({ then() {} })"],
    ["an await that never ends", "async () => { try { await new Promise(() => {}); } finally { for (;;); } }"],
    ["one that a timer leaves alone", "async () => { setTimeout(() => {}, 5); await new Promise(() => {}); }"],
    [
      "one that a reply leaves alone",
      "async () => { fetch('https://example.com').catch(() => {}); await new Promise(() => {}); }",
    ],
  ])("%s ends as soon as nothing can settle it", async (name, code) => {
    expect(await beside(exporting(code), name)).toMatchObject({
      kind: "failed",
      reason: "unsettled",
      retryable: false,
    });
    expect(opened.sandbox.metrics.threadsEnded).toBe(0);
  });

  test("a loop at the top level ends at the limit for loading", async () => {
    expect(await beside("for (;;);", "top level")).toMatchObject({ kind: "failed", reason: "timeout" });
  });

  test("a loop that breaks out of the module's wrapper does too", async () => {
    expect(await beside("}); for (;;); (function () {", "wrapper")).toMatchObject({
      kind: "failed",
      reason: "timeout",
    });
  });

  test("work left behind after its response does not block the thread", async () => {
    const code = exporting("() => { Promise.resolve().then(() => { for (;;); }); return 1; }");
    const outcome = await beside(code, "aftermath");
    expect(["returned", "failed"]).toContain(outcome.kind);
    expect(opened.sandbox.metrics.threadsEnded).toBe(0);
  });
});

describe("code that exhausts memory", () => {
  test.each([
    ["arrays", "() => { const all = []; for (;;) all.push(new Array(10000).fill(0)); }"],
    ["typed arrays", "() => { const all = []; for (;;) all.push(new Uint8Array(1e6)); }"],
    ["one large buffer", "() => new ArrayBuffer(2 ** 30)"],
    ["text that doubles", "() => { let s = 'x'; for (;;) s += s; }"],
    ["a result of 100 MB", "() => 'x'.repeat(1e8)"],
    ["a map", "() => { const m = new Map(); for (let i = 0; ; i++) m.set(i, { i }); }"],
    [
      "an object that is written as JSON without end",
      "() => { const o = { toJSON: () => [o, o].map(() => ({ ...o })) }; return JSON.stringify(Array(1e7).fill({ a: 'bbbbbbbbbbbbbbbb' })); }",
    ],
  ])("%s", async (name, code) => {
    const outcome = await beside(exporting(code), name);
    expect(outcome.kind).not.toBe("returned");
    if (outcome.kind === "failed") expect(["memory", "timeout", "result_too_large"]).toContain(outcome.reason);
    else expect(outcome).toMatchObject({ kind: "threw", error: { type: "other" } });
  });

  test("running out of memory has its own error", async () => {
    const code = exporting("() => { const all = []; for (;;) all.push(new Uint8Array(1e6)); }");
    const patient = { limits: { wallMs: 10_000 } };
    expect(await opened.run(code, patient)).toMatchObject({ kind: "failed", reason: "memory", retryable: false });
  });

  test("catching the error does not help", async () => {
    const code = exporting("() => { const all = []; for (;;) { try { all.push(new Uint8Array(1e6)); } catch {} } }");
    const outcome = await beside(code, "swallowing");
    expect(outcome).toMatchObject({ kind: "failed" });
    if (outcome.kind === "failed") expect(["memory", "timeout"]).toContain(outcome.reason);
  });

  test("the runner process stays within its limit", async () => {
    const code = exporting(
      "() => { const all = []; try { for (;;) all.push(new Uint8Array(1e6)); } catch {} return all.length; }",
    );
    await Promise.all(
      Array.from({ length: 8 }, (_, index) => opened.run(code, { limits, key: { functionId: `${index}` } })),
    );
    await expect.poll(() => opened.sandbox.metrics.runner?.rssBytes).toBeLessThan(800e6);
  });
});

describe("deeply nested code and data", () => {
  test.each([
    ["recursion", "() => { const f = () => 1 + f(); return f(); }"],
    ["recursion through natives", "() => { const f = () => [1].map(f); return f(); }"],
    ["recursion through getters", "() => { const o = { get a() { return this.a; } }; return o.a; }"],
    ["recursion through a proxy", "() => { const p = new Proxy({}, { get: (t, k, r) => r[k] }); return p.a; }"],
    ["recursion in toString", "() => { const o = { toString() { return String(this); } }; return String(o); }"],
    ["a nested regular expression", "() => new RegExp('('.repeat(50000) + ')'.repeat(50000))"],
  ])("%s has its own error", async (name, code) => {
    const outcome = await beside(exporting(code), name);
    expect(outcome.kind).toBe("threw");
  });

  test.each([
    ["nested JSON", "() => JSON.parse('['.repeat(200000) + ']'.repeat(200000))"],
    ["nested parentheses", "() => eval('('.repeat(100000) + ')'.repeat(100000))"],
  ])("%s ends the run, and only that", async (name, code) => {
    expect(await beside(exporting(code), name)).toMatchObject({ kind: "failed", reason: "memory", retryable: false });
  });

  test.each([
    ["200 levels", 200],
    ["3,000 levels", 3_000],
  ])("a result of %s is too large", async (name, levels) => {
    const code = exporting(
      `() => { let a = []; for (let i = 0; i < ${levels}; i++) a = [a]; return { a, text: '[[[' }; }`,
    );
    expect(await beside(code, name)).toMatchObject({ kind: "failed", reason: "result_too_large" });
  });

  test("brackets in text are not levels", async () => {
    const text = '[{\\"'.repeat(500);
    expect(await opened.value(exporting("({ args }) => [args.text, args.text]"), { args: { args: { text } } })).toEqual(
      [text, text],
    );
  });

  test("the error can be caught, and the code continues", async () => {
    const code = exporting(
      "() => { let n = 0; const f = () => { n++; f(); }; try { f(); } catch (e) { return [e instanceof RangeError || e.name, n > 500]; } }",
    );
    expect(await opened.value(code)).toEqual([true, true]);
  });
});

describe("native code that cannot be interrupted", () => {
  test("ends with its thread, and its tenant's other calls with it", async () => {
    const before = opened.sandbox.metrics.threadsEnded;
    const code = exporting("() => new Array(2 ** 28).join()");
    expect(await beside(code, "join")).toMatchObject({ kind: "failed", reason: "timeout" });
    expect(opened.sandbox.metrics.threadsEnded).toBe(before + 1);
    expect(opened.incidents).toContainEqual({ type: "thread_ended", tenantId: "join", functionId: "join" });
    expect(await opened.value(exporting("() => 1"), { key: { tenantId: "join" } })).toBe(1);
  });

  test("BigInt that grows without limit", async () => {
    const outcome = await beside(exporting("() => { let n = 3n; for (;;) n *= n; }"), "bigint");
    expect(outcome.kind).not.toBe("returned");
  });
});

describe("values that resist", () => {
  test.each([
    ["a proxy that throws at everything", "new Proxy({}, new Proxy({}, { get() { throw 1; } }))"],
    ["a getter that throws", "{ get message() { throw new Error('inner'); } }"],
    ["an error whose name is a symbol", "Object.assign(new Error('x'), { name: Symbol() })"],
    ["an error without a prototype", "Object.setPrototypeOf(new Error('x'), null)"],
    ["an error whose stack throws", "Object.defineProperty(new Error('x'), 'stack', { get() { throw 1; } })"],
    ["a function", "() => {}"],
    ["a symbol", "Symbol('x')"],
    ["a revoked proxy", "(() => { const { proxy, revoke } = Proxy.revocable({}, {}); revoke(); return proxy; })()"],
    ["an object that contains itself", "(() => { const o = {}; o.o = o; return o; })()"],
    [
      "a published error with hostile texts",
      "new (require('@basis-theory/basis-theory-reactor-formulas-sdk-js').BadRequestError)({ get a() { throw 1; } })",
    ],
  ])("%s, thrown", async (_name, expression) => {
    const outcome = await opened.run(exporting(`() => { throw ${expression}; }`), { limits });
    expect(outcome.kind).toBe("threw");
    expect(JSON.stringify(outcome)).not.toMatch(/file:|node_modules|\/work\//);
  });

  test.each([
    ["an object that contains itself", "(() => { const o = {}; o.o = o; return o; })()"],
    ["a BigInt", "1n"],
    ["a toJSON that throws", "{ toJSON() { throw new Error('no'); } }"],
    ["a proxy that throws at everything", "new Proxy({}, new Proxy({}, { get() { throw 1; } }))"],
  ])("%s, returned", async (_name, expression) => {
    expect((await opened.run(exporting(`() => (${expression})`), { limits })).kind).toBe("threw");
  });

  test("an unhandled rejection is ignored", async () => {
    expect(await opened.value(exporting("() => { Promise.reject(new Error('x')); return 1; }"))).toBe(1);
  });
});

describe("unlimited host calls", () => {
  test("100,000 concurrently: a thousand are made, the others are errors", async () => {
    let made = 0;
    const code = exporting(
      "async ({ bt }) => { const all = await Promise.allSettled(Array.from({ length: 100000 }, () => bt.tokenize(1))); const failed = all.filter(({ status }) => status === 'rejected'); return [all.length - failed.length, failed[0].reason.name, failed[0].reason.message]; }",
    );
    const bt = async () => {
      made += 1;
      return null;
    };
    const value = await opened.value(code, { hosts: { bt } });
    expect(value).toEqual([1_000, "BasisTheoryApiError", "one run may make 1000 calls"]);
    expect(made).toBe(1_000);
  });

  test("no more than the limit are in flight at any time", async () => {
    let underWay = 0;
    let most = 0;
    const bt = async () => {
      most = Math.max(most, ++underWay);
      await new Promise((resolve) => setTimeout(resolve, 2));
      underWay -= 1;
      return null;
    };
    const code = exporting(
      "async ({ bt }) => (await Promise.all(Array.from({ length: 50 }, () => bt.tokenize(1)))).length",
    );
    expect(await opened.value(code, { hosts: { bt }, limits: { hostCallsInFlight: 5 } })).toBe(50);
    expect(most).toBeLessThanOrEqual(5);
    expect(most).toBeGreaterThan(1);
  });

  test("a request or a response that is too large is an error of that call", async () => {
    const code = exporting(
      "async ({ bt, args }) => { try { return (await bt.tokenize('x'.repeat(args.n))).length; } catch (e) { return e.message; } }",
    );
    const call = (n: number, response: number) =>
      opened.value(code, {
        args: { args: { n } },
        hosts: { bt: async () => "y".repeat(response) },
        limits: { hostCallBytes: 10_000 },
      });
    expect(await call(5_000, 5_000)).toBe(5_000);
    expect(await call(20_000, 1)).toBe("the request is larger than 10000 bytes");
    expect(await call(1, 20_000)).toBe("the response is larger than 10000 bytes");
  });

  test("a host that never answers does not extend a run beyond its deadline, and learns of its end", async () => {
    const aborted = Promise.withResolvers<void>();
    const bt = (_method: unknown, _args: unknown, signal: AbortSignal) => {
      signal.addEventListener("abort", () => aborted.resolve());
      return new Promise<null>(() => {});
    };
    const outcome = await opened.run(exporting("({ bt }) => bt.tokenize(1)"), { hosts: { bt }, limits });
    expect(outcome).toMatchObject({ kind: "failed", reason: "timeout" });
    await aborted.promise;
  });

  test("more timers than the limit are an error", async () => {
    const code = exporting("() => { try { for (;;) setTimeout(() => {}, 1e6); } catch (e) { return e.message; } }");
    expect(await opened.value(code)).toBe("More than 100 timers are set.");
  });
});
