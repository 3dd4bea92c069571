import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { exporting, openSandbox } from "./support/open-sandbox.js";

/**
 * Known escapes from JavaScript sandboxes, by the categories of vm2's advisories, each tried against the shipped
 * engine. The tests check what an attacker would gain: a process, files, the network, or anything of another tenant.
 */
const opened = openSandbox();
const { value, run } = opened;
const folder = mkdtempSync(join(tmpdir(), "sandbox-escape-"));
const secretFile = join(folder, "secret.txt");
let visits = 0;
const server = createServer((_request, response) => {
  visits += 1;
  response.end("reached");
});

beforeAll(async () => {
  writeFileSync(secretFile, "a secret of the host");
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
});
afterAll(async () => {
  await opened[Symbol.asyncDispose]();
  server.close();
  rmSync(folder, { recursive: true });
});

/** Tries everything that a stolen `Function` constructor, global object or `require` would give. */
const LOOT = `
const unwrapped = async (given) => {
  const value = await given;
  return typeof value?.next === 'function' ? (await value.next()).value : value;
};
const loot = async (F) => {
  const found = [];
  const attempt = async (name, get) => {
    try { const got = await unwrapped(get()); if (got !== undefined && got !== null) found.push(name); } catch {}
  };
  const g = await Promise.resolve().then(() => unwrapped(F('return globalThis')())).catch(() => undefined);
  // The guest's process is a plain object of strings: nothing in it belongs to the host.
  const wayOut = (p) => p?.getBuiltinModule ?? p?.mainModule ?? p?._linkedBinding ?? p?.moduleLoadList ?? p?.report ?? Object.keys(p?.env ?? {})[0];
  await attempt('process', () => F('return process')().then?.(wayOut) ?? wayOut(F('return process')()));
  await attempt('process of the global', () => wayOut(g.process));
  await attempt('binding of process', () => g.process?.binding('fs'));
  await attempt('require', async () => (await unwrapped(F('return require')()))('fs'));
  await attempt('mainModule', () => F('return process.mainModule.require')());
  await attempt('WebAssembly', () => F('return WebAssembly')());
  await attempt('names of engines', () => g.Deno ?? g.Bun ?? g.std ?? g.os ?? g.scriptArgs ?? g.bjson);
  if (typeof g === 'object' && g !== globalThis) found.push('another global object');
  return found;
};
const lootSeen = (seen) => lootAll(
  seen.filter((x) => x !== null && (typeof x === 'object' || typeof x === 'function'))
    .flatMap((x) => [x, x.constructor, x.constructor?.constructor])
    .filter((F) => typeof F === 'function'),
);
const lootAll = async (constructors) => (await Promise.all(constructors.map(loot))).flat();
`;

/** A function that tries one escape, and returns what it found there: nothing. */
const attempt = (body: string) =>
  value(`${LOOT}\nmodule.exports = async (req) => { ${body} };`, { hosts: { bt: async () => ({ a: 1 }) } });

describe("ways to another realm's Function", () => {
  test.each([
    ["the constructor chain of an object", "return loot(({}).constructor.constructor);"],
    ["of the request", "return loot(req.constructor.constructor);"],
    ["of this", "return loot((function () { return this; })().constructor.constructor);"],
    [
      "of require and its result",
      "return lootAll([require.constructor, require('crypto').constructor.constructor, require('crypto').createHash.constructor]);",
    ],
    ["of module and exports", "return lootAll([module.constructor.constructor, exports.constructor.constructor]);"],
    [
      "of console, fetch, timers",
      "return lootAll([console.log, fetch, setTimeout, clearTimeout, queueMicrotask, URL, TextEncoder, Buffer.from].map((f) => f.constructor));",
    ],
    [
      "of bt and its promises",
      "const p = req.bt.tokenize(1); const v = await p; return lootAll([req.bt.tokenize.constructor, p.constructor.constructor, v.constructor.constructor, p.then.constructor]);",
    ],
    ["of an async function", "return loot((async () => {}).constructor);"],
    ["of generators", "return lootAll([(function* () {}).constructor, (async function* () {}).constructor]);"],
    ["of errors of the engine", "try { null.x; } catch (e) { return loot(e.constructor.constructor); }"],
    ["of errors of natives", "try { new Array(-1); } catch (e) { return loot(e.constructor.constructor); }"],
    ["of deep recursion", "const f = () => f(); try { f(); } catch (e) { return loot(e.constructor.constructor); }"],
    [
      "of errors of the host",
      "try { require('crypto').createHash('none'); } catch (e) { return loot(e.constructor.constructor); }",
    ],
    [
      "of a refused host call",
      "try { await fetch('https://example.com'); } catch (e) { return loot(e.constructor.constructor); }",
    ],
    ["of a missing module", "try { require('fs'); } catch (e) { return loot(e.constructor.constructor); }"],
    [
      "of typed arrays and their buffers",
      "const b = require('crypto').randomBytes(8); return lootAll([b.constructor.constructor, b.buffer.constructor.constructor]);",
    ],
    [
      "of DisposableStack and SuppressedError",
      "const s = new DisposableStack(); s.defer(() => { null.x; }); s.defer(() => { null.y; }); try { s.dispose(); } catch (e) { return lootAll([e.constructor.constructor, (e.suppressed ?? e).constructor.constructor]); }",
    ],
    [
      "of AggregateError",
      "try { await Promise.any([Promise.reject(new Error('x'))]); } catch (e) { return lootAll([e.constructor.constructor, e.errors.constructor.constructor]); }",
    ],
    ["through eval", "return loot((0, eval)('Function'));"],
    ["through a with statement", "return loot(new Function('o', 'with (o) { return constructor.constructor; }')({}));"],
    ["through Reflect.construct", "return loot(Reflect.construct(Function, ['return Function'], Object)());"],
  ])("%s", async (_name, body) => {
    expect(await attempt(body)).toEqual([]);
  });
});

describe("hooks that a host calls", () => {
  test.each([
    [
      "Error.prepareStackTrace",
      "let seen = []; Error.prepareStackTrace = (e, frames) => { seen = frames; return ''; }; new Error().stack; try { require('crypto').createHash('none'); } catch (e) { e.stack; } Error.prepareStackTrace = undefined; const inner = [].concat(seen ?? []).flatMap((f) => { try { return [f, f.getThis?.(), f.getFunction?.()]; } catch { return []; } }).filter(Boolean); return lootAll(inner.map((x) => x.constructor?.constructor ?? x.constructor));",
    ],
    [
      "Error.captureStackTrace",
      "const o = {}; Error.captureStackTrace?.(o); return /file:|node:|worker|\\/work|wasm/.test(String(o.stack)) ? [o.stack] : [];",
    ],
    [
      "stacks of host errors",
      "const stacks = []; try { require('crypto').createHash('none'); } catch (e) { stacks.push(e.stack); } try { await fetch('x://'); } catch (e) { stacks.push(e.stack); } return stacks.filter((s) => /file:|node:|worker|\\/work|wasm:/.test(String(s)));",
    ],
    [
      "caller and callee",
      "function f() { return f.caller; } const found = []; try { found.push(f()); } catch {} try { found.push((function () { return arguments.callee.caller; })()); } catch {} return found.filter((x) => x && x.name === 'host');",
    ],
    [
      "Symbol.species of promises",
      "const p = req.bt.tokenize(1); const seen = []; p.constructor = { [Symbol.species]: class { constructor(run) { run((x) => seen.push(x), (x) => seen.push(x)); } } }; p.then(); return lootSeen(seen);",
    ],
    [
      "Symbol.species of arrays",
      "const a = []; a.constructor = { [Symbol.species]: function () { return a; } }; const r = a.map((x) => x); return loot(r.constructor.constructor ?? Function);",
    ],
    [
      "Symbol.hasInstance",
      "Object.defineProperty(Error, Symbol.hasInstance, { value: () => true }); return loot(Function);",
    ],
    [
      "the inspect symbol",
      "const seen = []; console.log({ [Symbol.for('nodejs.util.inspect.custom')](...args) { seen.push(...args); return ''; } }); return lootSeen(seen);",
    ],
    [
      "thenables given to the host",
      "const seen = []; const t = { then(a, b) { seen.push(a, b); a(1); } }; await req.bt.tokenize(t); await t; return lootSeen(seen);",
    ],
    [
      "toJSON given to the host",
      "const seen = []; await req.bt.tokenize({ toJSON(...args) { seen.push(this, ...args); return 1; } }); return lootSeen(seen);",
    ],
    [
      "getters given to the host",
      "let depth = 0; await req.bt.tokenize({ get a() { depth++; return Function; } }); return depth > 1 ? ['read twice'] : [];",
    ],
    [
      "a patched then",
      "const seen = []; const then = Promise.prototype.then; Promise.prototype.then = function (a, b) { seen.push(a, b); return then.call(this, a, b); }; await req.bt.tokenize(1); Promise.prototype.then = then; return lootSeen(seen);",
    ],
    [
      "patched call, apply and bind",
      "const seen = []; for (const name of ['call', 'apply', 'bind']) { const real = Function.prototype[name]; Function.prototype[name] = function (...args) { seen.push(this, ...args); return Reflect.apply(real, this, args); }; } require('crypto').createHash('sha256').update('x').digest('hex'); await req.bt.tokenize(1); return lootSeen(seen);",
    ],
    [
      "setters on the prototypes of arrays and objects",
      "const seen = [0]; for (const [p, k] of [[Array.prototype, '0'], [Object.prototype, 'finish'], [Object.prototype, 'resolve'], [Object.prototype, 'to']]) Object.defineProperty(p, k, { configurable: true, set(v) { seen.push(this, v); Object.defineProperty(this, k, { value: v, writable: true, configurable: true, enumerable: true }); } }); await req.bt.tokenize(1); delete Array.prototype[0]; for (const k of ['finish', 'resolve', 'to']) delete Object.prototype[k]; return lootSeen(seen);",
    ],
    [
      "async generators with a thenable return",
      "const inner = { [Symbol.asyncIterator]() { return this; }, next: () => ({ done: false, value: 1 }) }; async function* g() { yield* inner; } const it = g(); await it.next(); try { const r = await it.return({ then() { const f = () => f(); f(); } }); return loot(r.value.constructor.constructor); } catch (e) { return loot(e.constructor.constructor); }",
    ],
    [
      "Array.fromAsync",
      "try { await Array.fromAsync({ async *[Symbol.asyncIterator]() { yield* null; } }); } catch (e) { return loot(e.constructor.constructor); } return [];",
    ],
    [
      "finalization registries and weak references",
      "const r = new FinalizationRegistry((held) => held); r.register({}, Function); return loot(new WeakRef(Function).deref());",
    ],
  ])("%s", async (_name, body) => {
    expect(await attempt(body)).toEqual([]);
  });
});

describe("missing features", () => {
  test("names of Node and of engines", async () => {
    const names = [
      "require_",
      "process.getBuiltinModule",
      "process.mainModule",
      "process.report",
      "process._linkedBinding",
      "WebAssembly",
      "Deno",
      "Bun",
      "std",
      "os",
      "Worker",
      "importScripts",
      "XMLHttpRequest",
      "navigator",
      "__dirname_",
      "v8",
      "vm",
      "print",
      "gc",
      "load",
      "host",
      "__host",
      "__load",
      "boot",
      "module_",
    ];
    const code = exporting(
      `() => ${JSON.stringify(names)}.filter((name) => { try { return eval('typeof ' + name) !== 'undefined'; } catch { return false; } })`,
    );
    expect(await value(code)).toEqual([]);
  });

  test("globals are those that are documented, and no others", async () => {
    const known = new Set([
      ..."Object,Function,Error,EvalError,RangeError,ReferenceError,SyntaxError,TypeError,URIError,InternalError,AggregateError,SuppressedError,Iterator,Array,parseInt,parseFloat,isNaN,isFinite,queueMicrotask,decodeURI,decodeURIComponent,encodeURI,encodeURIComponent,escape,unescape,Infinity,NaN,undefined,eval,Number,Boolean,String,Math,Reflect,Symbol,DisposableStack,globalThis,BigInt,Date,RegExp,JSON,Proxy,Map,Set,WeakMap,WeakSet,ArrayBuffer,Uint8ClampedArray,Int8Array,Uint8Array,Int16Array,Uint16Array,Int32Array,Uint32Array,BigInt64Array,BigUint64Array,Float16Array,Float32Array,Float64Array,DataView,Promise,AsyncDisposableStack,WeakRef,FinalizationRegistry,DOMException,btoa,atob,performance".split(
        ",",
      ),
      ..."URL,URLSearchParams,TextEncoder,TextDecoder,global,Buffer,console,fetch,Headers,Request,Response,setTimeout,setInterval,setImmediate,clearTimeout,clearInterval,clearImmediate".split(
        ",",
      ),
      ..."process,Intl,AbortController,AbortSignal,Event,EventTarget,Atomics,SharedArrayBuffer,structuredClone".split(
        ",",
      ),
      "Symbol(cloakroom.require)",
    ]);
    const names = await value(exporting("() => Reflect.ownKeys(globalThis).map(String)"));
    expect(
      (Array.isArray(names) ? names : []).filter(
        (name) => !known.has(String(name)) && name !== "Symbol(Symbol.toStringTag)",
      ),
    ).toEqual([]);
  });

  test.each([
    "fs",
    "node:fs",
    "fs/promises",
    "child_process",
    "net",
    "dns",
    "vm",
    "worker_threads",
    "node:module",
    "v8",
    "inspector",
    "cluster",
    "tls",
    "http2",
    "async_hooks",
    "ssh2",
    "tesseract.js",
  ])("the module %j is refused with a reason", async (name) => {
    const code = exporting("({ args }) => { try { require(args.name); } catch (e) { return [e.code, e.message]; } }");
    expect(await value(code, { args: { args: { name } } })).toEqual([
      "MODULE_NOT_FOUND",
      expect.stringMatching(new RegExp(`^The module '${name.replace("node:", "")}' is not available: .{15,}\\.$`)),
    ]);
  });

  test("the stub that packages get for such a module does nothing", async () => {
    // node-jose, pdfkit and others load `fs` and never use it here.
    const code = exporting(`async () => {
      const inner = require('pdfkit').prototype;
      const tries = [() => inner.registerFont.call({ _registeredFonts: {} }, 'x', '/etc/passwd'), () => new (require('pdfkit'))({ font: '/etc/passwd' })];
      return tries.map((run) => { try { run(); return 'ran'; } catch (e) { return e.message; } });
    }`);
    expect(await value(code)).toEqual([
      "ran",
      expect.stringContaining("fs.readFileSync is not available: code here has no files"),
    ]);
  });

  test.each(["../package.json", "/etc/passwd", "./x", "lodash/../../x", "__proto__", "constructor", "toString", ""])(
    "the module %j",
    async (name) => {
      const code = exporting("({ args }) => { try { require(args.name); } catch (e) { return [e.code, e.message]; } }");
      const result = await value(code, { args: { args: { name } } });
      expect(result).toEqual([
        "MODULE_NOT_FOUND",
        expect.stringContaining(`Cannot find module '${name.replace(/^node:/, "")}'. Available here: @adyen/`),
      ]);
    },
  );

  test.each([
    ["import()", "() => import('fs')"],
    ["import() in eval", "() => eval(\"import('fs')\")"],
    ["import() of a data URL", "() => import('data:text/javascript,export default 1')"],
    ["import() in a new function", "() => new Function(\"return import('fs')\")()"],
    ["import() through an object", "() => import({ toString: () => 'fs' })"],
  ])("%s", async (_name, code) => {
    expect((await run(exporting(code))).kind).toBe("threw");
  });

  test.each([
    ["static imports", "import fs from 'fs'; export default () => 1;"],
    ["static imports of files", "import x from '/etc/passwd'; export default () => 1;"],
    ["static imports of addresses", "import x from 'https://example.com/x.js'; export default () => 1;"],
  ])("%s", async (_name, code) => {
    expect(await opened.compile(code)).toMatchObject({
      message: expect.stringMatching(/not available|Cannot find module/),
    });
    expect(await run(code)).toMatchObject({ reason: "does_not_compile" });
  });

  test("import.meta is empty", async () => {
    expect(await value("export default () => Object.keys(import.meta);")).toEqual([]);
    expect(await run("module.exports = () => import.meta.url;")).toMatchObject({ reason: "does_not_compile" });
  });

  test("the error of a refused import reveals nothing about the host", async () => {
    const code = exporting("async () => { try { await import('fs'); } catch (e) { return [e.message, e.stack]; } }");
    const [message, stack] = Object.values(Object(await value(code)));
    expect(message).toBe("The module 'fs' is not available: code here has no files.");
    expect(stack).not.toMatch(/file:|node:|worker|wasm|quickjs-wasi/);
  });

  test("leaving the module's wrapper leads nowhere", async () => {
    const code =
      "}); globalThis.module = { exports: null }; globalThis.left = typeof require + typeof host; (function (exports, require, module) { module.exports = () => [globalThis.left, typeof process];";
    expect(await value(code)).toEqual(["undefinedundefined", "object"]);
  });

  test("no clock is finer than a millisecond", async () => {
    const code = exporting(
      "() => { let least = 1000; for (let i = 0, last = performance.now(); i < 300000; i++) { const now = performance.now(); if (now > last) { least = Math.min(least, now - last); last = now; } } return least; }",
    );
    expect(await value(code)).toBeGreaterThan(0.9);
  });
});

describe("files and the network", () => {
  test("none of the guest's clients reaches a server without the host", async () => {
    const { port } = server.address() as AddressInfo;
    const code = exporting(`async () => {
      const url = 'http://127.0.0.1:${port}/';
      const ways = [
        () => fetch(url), () => require('node-fetch')(url), () => require('axios').get(url), () => require('axios')({ url }),
        () => new Promise((ok, no) => require('http').get(url, ok).on('error', no)),
        () => new Promise((ok, no) => require('https').request({ host: '127.0.0.1', port: ${port} }, ok).on('error', no).end()),
      ];
      return (await Promise.allSettled(ways.map((way) => way()))).map(({ status }) => status);
    }`);
    expect(await value(code)).toEqual(Array(6).fill("rejected"));
    expect(visits).toBe(0);
  });

  test("file URLs go to the host like any other, which refuses them", async () => {
    const asked: string[] = [];
    const fetch = async ({ url }: { readonly url: string }) => {
      asked.push(url);
      throw new Error("refused");
    };
    const code = exporting(
      `async () => { try { return await (await fetch('file://${secretFile}')).text(); } catch (e) { return e.message; } }`,
    );
    expect(await value(code, { hosts: { fetch } })).toBe(
      `request to file://${secretFile} failed, reason: the call failed`,
    );
    expect(asked).toEqual([`file://${secretFile}`]);
  });

  test("no escape attempt created or removed a file", () => {
    expect(existsSync(secretFile)).toBe(true);
    expect(readdirSync(folder)).toEqual(["secret.txt"]);
  });
});

describe("other tenants", () => {
  const pollution = `
    Object.prototype.polluted = 'yes'; Array.prototype.map = () => 'stolen'; JSON.stringify = () => '"stolen"'; JSON.parse = () => 'stolen';
    Promise.prototype.then = () => 'stolen'; Function.prototype.call = () => 'stolen'; globalThis.leak = 'leaked'; Buffer.from = () => 'stolen';
    require('lodash').map = () => 'stolen'; require('axios').get = () => 'stolen'; Math.random = () => 4; Date.now = () => 4; String.prototype.trim = () => 'stolen';
    TextEncoder.prototype.encode = () => { throw 1; }; Uint8Array.prototype.toHex = () => 'stolen'; Object.defineProperty(globalThis, 'Map', { value: null });`;

  test("see no change that a tenant made to built-ins, and neither does the host", async () => {
    await run(`${pollution}\nmodule.exports = () => 1;`, { key: { tenantId: "polluter" } });
    const code = exporting(
      "({ args }) => [({}).polluted, [1].map((x) => x + 1), JSON.stringify({ a: args.a }), typeof leak, Buffer.from('a').toString('hex'), require('lodash').map([1], (x) => x), Math.random() === 4, Date.now() === 4, ' a '.trim(), typeof Map]",
    );
    const calls = Array.from({ length: 8 }, (_, index) =>
      value(code, { key: { tenantId: `tenant ${index}` }, args: { args: { a: 1 } } }),
    );
    for (const result of await Promise.all(calls)) {
      expect(result).toEqual([null, [2], '{"a":1}', "undefined", "61", [1], false, false, "a", "function"]);
    }
    expect(Reflect.get({}, "polluted")).toBeUndefined();
  });

  test("find nothing of a tenant in reused memory", async () => {
    const secret = "4242424242424242-canary";
    const key = { tenantId: "one", functionId: "holds a secret" };
    for (let i = 0; i < 5; i++) {
      await value(
        exporting(
          "({ args }) => { globalThis.all = Array(1000).fill(0).map(() => args.secret + Math.random()); return all.length; }",
        ),
        { key, args: { args: { secret } } },
      );
    }
    const search = exporting(
      "() => { const found = []; for (let i = 0; i < 40; i++) if (new Uint8Array(1 << 20).includes(0x34) || Uint8Array.prototype.includes.call(Buffer.allocUnsafe(1 << 20), 0x34)) found.push(i); for (const name of Reflect.ownKeys(globalThis)) if (/canary/.test(String(globalThis[name]))) found.push(String(name)); return found; }",
    );
    const results = Array.from({ length: 4 }, (_, index) => value(search, { key: { tenantId: `searcher ${index}` } }));
    expect((await Promise.all(results)).flat()).toEqual([]);
  });

  test("are not affected by a function's own instances either: each starts from the same state", async () => {
    const code =
      "const before = globalThis.mark; globalThis.mark = 1; module.exports = async () => { await new Promise((r) => setTimeout(r, 50)); return before ?? null; };";
    expect(await Promise.all(Array.from({ length: 6 }, () => value(code)))).toEqual(Array(6).fill(null));
  });
});

describe("tampering with the sandbox's own internals", () => {
  test.each([
    ["JSON", "JSON.stringify = () => 'no json'; JSON.parse = () => null"],
    ["TextEncoder", "TextEncoder.prototype.encode = () => new Uint8Array(9)"],
    ["Promise", "globalThis.Promise = null"],
    ["Object.prototype.toJSON", "Object.prototype.toJSON = function () { return 'replaced'; }"],
    ["Uint8Array", "globalThis.Uint8Array = null"],
    [
      "Map and Array methods",
      "Map.prototype.get = () => undefined; Map.prototype.set = () => undefined; Array.prototype.push = () => 0; Array.prototype.shift = () => undefined",
    ],
    ["Reflect", "Reflect.apply = () => { throw 1; }"],
    ["Symbol.iterator", "Array.prototype[Symbol.iterator] = function* () {}"],
  ])("%s breaks at most the code that did it", async (name, tampering) => {
    const code = `module.exports = async ({ bt }) => { ${tampering}; try { await bt.tokenize({ a: 1 }); } catch {} return { a: [1] }; };`;
    const outcome = await run(code, {
      key: { tenantId: name },
      hosts: { bt: async () => null },
      limits: { wallMs: 500 },
    });
    expect(["returned", "threw", "failed"]).toContain(outcome.kind);
    expect(await value(exporting("() => ({ a: [1] })"), { key: { tenantId: `after ${name}` } })).toEqual({ a: [1] });
    expect(opened.sandbox.metrics.runnersEnded).toBe(0);
  });
});
