import { afterAll, describe, expect, test } from "vitest";
import type { Json } from "../../../src/base/json.js";
import { exporting, openSandbox } from "../support/open-sandbox.js";

/** The API of Node.js v16: the same expression runs in the guest and here, with the same result. */
const opened = openSandbox({ threads: 2 });
afterAll(() => opened[Symbol.asyncDispose]());

const guest = (expression: string) => opened.value(exporting(`async () => (${expression})`));
const here = async (expression: string): Promise<Json> => {
  const run: (require: unknown) => Promise<unknown> = Object(
    new Function("require", `return (async () => (${expression}))();`),
  );
  const value = await run((name: string) => process.getBuiltinModule(name));
  return JSON.parse(JSON.stringify(value) ?? "null");
};
const same = async (_name: string, expression: string) =>
  expect(await guest(expression)).toEqual(await here(expression));

/** Like `same`, where time zone and locale of this process may differ from the guest's. */
const TIME = "Date.UTC(2024, 1, 29, 13, 5, 9, 7)";
const LOCALES = ["en-US", "en-GB", "de-DE", "fr-FR", "es-MX", "pt-BR", "ja-JP", "zh-CN", "ar-EG", "hi-IN", "tr-TR"];

describe("Intl", () => {
  test.each(LOCALES)("dates in %s", async (locale) => {
    const options = [
      "{}",
      "{ dateStyle: 'full', timeStyle: 'long' }",
      "{ weekday: 'long', year: 'numeric', month: 'long', day: 'numeric' }",
      "{ hour: 'numeric', minute: '2-digit', hour12: true }",
      "{ timeZone: 'America/New_York', timeZoneName: 'short' }",
      "{ timeZone: 'Asia/Kolkata', month: '2-digit', day: '2-digit', year: '2-digit' }",
    ].map((given) => given.replace("{", "{ timeZone: 'UTC',").replace(/timeZone: 'UTC',(.*timeZone:)/, "$1"));
    const expression = `[${options.join(", ")}].flatMap((o) => [
      new Intl.DateTimeFormat('${locale}', o).format(${TIME}), new Date(${TIME}).toLocaleString('${locale}', o),
      ...(o.dateStyle ? [] : [new Date(${TIME}).toLocaleDateString('${locale}', o), new Date(${TIME}).toLocaleTimeString('${locale}', o)]),
      new Intl.DateTimeFormat('${locale}', o).formatToParts(${TIME}), new Intl.DateTimeFormat('${locale}', o).resolvedOptions(),
    ])`;
    await same(locale, expression);
  });

  test.each(LOCALES)("numbers in %s", (locale) =>
    same(
      locale,
      `[0, -0, 1234567.891, -5, 1e21, 0.000001, NaN, -Infinity, 12345678901234567890n].flatMap((n) => [
        n.toLocaleString('${locale}'), new Intl.NumberFormat('${locale}', { style: 'currency', currency: 'EUR' }).format(n),
        new Intl.NumberFormat('${locale}', { style: 'percent', maximumFractionDigits: 2 }).format(n),
        new Intl.NumberFormat('${locale}', { notation: 'compact' }).format(n),
        new Intl.NumberFormat('${locale}', { style: 'unit', unit: 'kilometer-per-hour' }).formatToParts(n),
      ])`,
    ),
  );

  test.each(["en-US", "de", "sv", "es-u-co-trad", "ja", "cs"])("collation in %s", (locale) =>
    same(
      locale,
      `(() => { const words = ['z', 'ä', 'a', 'Zebra', 'apfel', 'Äpfel', 'ch', 'c', 'llama', 'lz', 'ö', 'o', '10', '9', 'é', 'e', 'い', 'あ', '', ' '];
        return [words.toSorted(new Intl.Collator('${locale}').compare), words.toSorted((a, b) => a.localeCompare(b, '${locale}', { numeric: true })),
          'a'.localeCompare('A', '${locale}', { sensitivity: 'base' }), new Intl.Collator('${locale}').resolvedOptions()]; })()`,
    ),
  );

  test.each([
    ["an epoch", "new Date(0).toLocaleDateString('en-US', { timeZone: 'UTC' })"],
    ["plurals", "['en', 'pl', 'ar'].flatMap((l) => [0, 1, 2, 5, 1.5].map((n) => new Intl.PluralRules(l).select(n)))"],
    ["ordinals", "[1, 2, 3, 4].map((n) => new Intl.PluralRules('en', { type: 'ordinal' }).select(n))"],
    [
      "relative times",
      "['en', 'de'].map((l) => new Intl.RelativeTimeFormat(l, { numeric: 'auto' }).format(-1, 'day'))",
    ],
    ["lists", "['en', 'fr'].map((l) => new Intl.ListFormat(l, { type: 'disjunction' }).format(['a', 'b', 'c']))"],
    [
      "names",
      "[new Intl.DisplayNames('de', { type: 'region' }).of('US'), new Intl.DisplayNames(['fr'], { type: 'currency' }).of('USD')]",
    ],
    [
      "segments",
      "[...new Intl.Segmenter('en', { granularity: 'word' }).segment('Hi, you!')].map(({ segment, index, isWordLike, input }) => [segment, index, isWordLike, input])",
    ],
    [
      "a segment by its place",
      "new Intl.Segmenter('en', { granularity: 'word' }).segment('Hi you').containing(4).segment",
    ],
    [
      "locales",
      "(({ language, region, baseName, calendar }) => [language, region, baseName, calendar])(new Intl.Locale('de-AT-u-ca-gregory'))",
    ],
    ["likely subtags", "[String(new Intl.Locale('zh').maximize()), String(new Intl.Locale('en-Latn-US').minimize())]"],
    ["canonical locales", "Intl.getCanonicalLocales(['EN-us', 'sr-latn'])"],
    ["values", "Intl.supportedValuesOf('currency').length > 100"],
    ["supported locales", "Intl.DateTimeFormat.supportedLocalesOf(['de', 'xx'])"],
    ["a range", "new Intl.DateTimeFormat('en', { timeZone: 'UTC' }).formatRange(0, 1e10)"],
    [
      "calls without new",
      "[Intl.NumberFormat('de').format(1.5), Intl.DateTimeFormat('de', { timeZone: 'UTC' }).format(0), Intl.Collator().compare('a', 'b')]",
    ],
    ["functions that are bound", "[1, 2.5].map(new Intl.NumberFormat('de').format)"],
    [
      "tags",
      "[Object.prototype.toString.call(Intl), Object.prototype.toString.call(new Intl.NumberFormat()), new Intl.NumberFormat() instanceof Intl.NumberFormat, Intl.NumberFormat.name]",
    ],
    ["letters in Turkish", "['I'.toLocaleLowerCase('tr'), 'i'.toLocaleUpperCase('tr'), 'I'.toLocaleLowerCase()]"],
    ["items of an array", "[1234.5, new Date(NaN)].map((x) => x.toLocaleString('de'))"],
    ["nothing enumerable", "Object.keys(Intl)"],
  ])("%s", same);

  test("the time zone is UTC and the language American English, wherever the server is", async () => {
    expect(
      await guest(
        "[new Date(0).toLocaleString(), (1e6).toLocaleString(), new Intl.DateTimeFormat().resolvedOptions().timeZone, new Intl.NumberFormat().resolvedOptions().locale]",
      ),
    ).toEqual(["1/1/1970, 12:00:00 AM", "1,000,000", "UTC", "en-US"]);
  });

  test.each([
    "new Intl.DateTimeFormat('en', { timeZone: 'Mars/Olympus' })",
    "new Intl.NumberFormat('en', { style: 'currency' })",
    "new Intl.NumberFormat('not a locale')",
    "new Intl.DateTimeFormat('en').format(NaN)",
    "new Intl.RelativeTimeFormat('en').format(1, 'eon')",
    "Intl.supportedValuesOf('nothing')",
    "new Date().toLocaleDateString('en', { month: 'nonsense' })",
    "new Intl.DisplayNames('en')",
    "new Intl.Locale('')",
  ])("the error of %s", async (expression) => {
    const named = `(() => { try { ${expression}; return 'none'; } catch (e) { return e.name; } })()`;
    expect(await guest(named)).toEqual(await here(named));
  });

  test.each([
    ["long texts", "'\\u0301\\u0323'.repeat(40000).localeCompare('\\u0323\\u0301'.repeat(40000)) !== undefined"],
    ["long texts that are the same at first", "('a'.repeat(9000) + 'b').localeCompare('a'.repeat(9000) + 'c')"],
  ])("%s are compared by their beginning", async (_name, expression) => {
    expect([true, -1]).toContain(await guest(expression));
  });

  test.each([
    ["too long a text", "[...new Intl.Segmenter().segment('a'.repeat(70000))]"],
    ["too large a number", "new Intl.NumberFormat().format(10n ** 2000n)"],
    ["too many locales", "new Intl.NumberFormat(Array(100).fill('en'))"],
    [
      "too many options",
      "new Intl.NumberFormat('en', Object.fromEntries(Array.from({ length: 50 }, (_, i) => ['o' + i, 1])))",
    ],
    ["too long a list", "new Intl.ListFormat().format(Array(2000).fill('a'))"],
  ])("%s is rejected", async (_name, expression) => {
    expect(
      await guest(`(() => { try { ${expression}; return 'none'; } catch (e) { return e instanceof Error; } })()`),
    ).toBe(true);
  });
});

describe("process", () => {
  test("identifies itself as Node.js v16 on Linux, and reveals nothing of the machine", async () => {
    expect(
      await guest(
        "[process.version, process.versions.node, process.platform, process.arch, Object.keys(process.env), process.cwd(), process.argv.length, String(process), process.release.name, process.stdout.isTTY, typeof process.pid, process.exitCode ?? null]",
      ),
    ).toEqual(["v16.20.2", "16.20.2", "linux", "x64", [], "/", 2, "[object process]", "node", false, "number", null]);
    expect(await guest("process === require('process') && process === global.process")).toBe(true);
  });

  test("has a writable environment, for libraries that change it", async () => {
    expect(await guest("(() => { process.env.NODE_ENV = 'test'; return process.env.NODE_ENV; })()")).toBe("test");
  });

  test("runs deferred callbacks after the current code, with their arguments", async () => {
    expect(
      await guest(
        "await new Promise((ok) => { const seen = []; process.nextTick((a, b) => { seen.push(a + b); ok(seen); }, 1, 2); seen.push('first'); })",
      ),
    ).toEqual(["first", 3]);
    expect(
      await opened.thrown(
        exporting("() => new Promise(() => process.nextTick(() => { throw new Error('uncaught'); }))"),
      ),
    ).toEqual(["uncaught"]);
  });

  test("measures time, in whole milliseconds", async () => {
    const code =
      "await (async () => { const start = process.hrtime(), big = process.hrtime.bigint(); await new Promise((r) => setTimeout(r, 30)); const [s, n] = process.hrtime(start); return [s, n >= 25e6 && n < 2e9, n % 1e6, typeof big, process.hrtime.bigint() - big >= 25000000n, process.uptime() > 0]; })()";
    expect(await guest(code)).toEqual([0, true, 0, "bigint", true, true]);
  });

  test("reports the memory of its instance", async () => {
    expect(
      await guest(
        "(() => { const before = process.memoryUsage().rss; globalThis.kept = new Uint8Array(2e7); return [before > 1e6, process.memoryUsage.rss() - before >= 1.9e7, process.memoryUsage().heapUsed > 0]; })()",
      ),
    ).toEqual([true, true, true]);
  });

  test("writes to the console", async () => {
    const outcome = await opened.run(
      exporting(
        "() => { process.stdout.write('out\\n'); process.stderr.write('err'); process.emitWarning('careful'); }",
      ),
    );
    expect(outcome.console).toEqual([
      { level: "log", text: "out" },
      { level: "error", text: "err" },
      { level: "warn", text: "Warning: careful" },
    ]);
  });

  test.each(["exit(1)", "abort()", "kill(1)", "chdir('/tmp')", "binding('fs')", "dlopen({}, 'x')"])(
    "cannot be acted on: process.%s",
    async (call) => {
      expect(await opened.thrown(exporting(`() => process.${call}`))).toEqual([
        `process.${call.replace(/\(.*/, "")} is not available: code here cannot act on the process that runs it.`,
      ]);
    },
  );
});

describe("Web APIs", () => {
  test.each([
    [
      "AbortController",
      "(() => { const c = new AbortController(); const seen = []; c.signal.addEventListener('abort', (e) => seen.push(e.type, e.target === c.signal)); c.signal.onabort = () => seen.push('on'); const before = c.signal.aborted; c.abort(); c.abort(); return [before, c.signal.aborted, seen, c.signal.reason.name, c.signal instanceof AbortSignal, c.signal instanceof EventTarget]; })()",
    ],
    [
      "its own reason",
      "(() => { const c = new AbortController(); c.abort('why'); try { c.signal.throwIfAborted(); } catch (e) { return [e, AbortSignal.abort(5).reason]; } })()",
    ],
    [
      "a signal of several",
      "(() => { const a = new AbortController(), b = new AbortController(); const s = AbortSignal.any([a.signal, b.signal]); b.abort('b'); return [s.aborted, s.reason, AbortSignal.any([a.signal, AbortSignal.abort('x')]).reason]; })()",
    ],
    [
      "a signal by time",
      "await new Promise((ok) => { const s = AbortSignal.timeout(5); s.addEventListener('abort', () => ok([s.aborted, s.reason.name])); })",
    ],
    ["signals that cannot be constructed", "(() => { try { new AbortSignal(); } catch (e) { return e.name; } })()"],
    [
      "Event and EventTarget",
      "(() => { const t = new EventTarget(); const seen = []; const once = () => seen.push('once'); t.addEventListener('x', once, { once: true }); t.addEventListener('x', (e) => { seen.push(e.type, e.cancelable); e.preventDefault(); }); const r = t.dispatchEvent(new Event('x', { cancelable: true })); t.dispatchEvent(new Event('x')); return [seen, r]; })()",
    ],
    [
      "structuredClone",
      "(() => { const o = { d: new Date(5), m: new Map([[1, new Set([2])]]), r: /x/gi, b: new Uint8Array([1, 2]), e: new RangeError('r'), n: [undefined, null, -0, 5n].length }; o.self = o; const c = structuredClone(o); return [c.d.getTime(), c.m.get(1).has(2), String(c.r), [...c.b], c.e.name + c.e.message, c.self === c, c !== o]; })()",
    ],
    ["structuredClone of a function", "(() => { try { structuredClone(() => {}); } catch (e) { return e.name; } })()"],
    [
      "Atomics",
      "(() => { const a = new Int32Array(new SharedArrayBuffer(8)); return [Atomics.add(a, 0, 5), Atomics.sub(a, 0, 2), Atomics.load(a, 0), Atomics.store(a, 1, 7), Atomics.exchange(a, 1, 9), Atomics.compareExchange(a, 1, 9, 4), Atomics.compareExchange(a, 1, 9, 5), Atomics.and(a, 1, 6), Atomics.or(a, 1, 1), Atomics.xor(a, 1, 3), [...a], Atomics.notify(a, 0), Atomics.isLockFree(4)]; })()",
    ],
    [
      "Atomics on a plain array",
      "[() => Atomics.load([1], 0), () => Atomics.load(new Int8Array(1), 5), () => Atomics.add(new Float64Array(1), 0, 1)].map((f) => { try { f(); } catch (e) { return e.name; } })",
    ],
    [
      "TextDecoder of Windows-1252",
      "['latin1', 'ISO-8859-1', ' windows-1252 '].map((l) => { const d = new TextDecoder(l); return [d.encoding, d.fatal, d.decode(Uint8Array.of(0x80, 0xe9, 0x9f, 65)), d.decode(Uint8Array.of(1, 0xfc, 2).subarray(1, 2)), d.decode(new ArrayBuffer(1)), d.decode()]; })",
    ],
    [
      "TextDecoder's errors",
      "[() => new TextDecoder('nope'), () => new TextDecoder('utf-8', { fatal: true }).decode(Uint8Array.of(255)), () => new TextDecoder('utf-8').decode('text')].map((f) => { try { return f(); } catch (e) { return [e.name, e.code]; } })",
    ],
    [
      "TextEncoder and TextDecoder",
      "[new TextDecoder().decode(new TextEncoder().encode('ü')), new TextEncoder().encoding, new TextDecoder('utf-8').encoding]",
    ],
  ])("%s", same);
});

test("dates name the time zone", async () => {
  const expression = "[String(new Date(0)), new Date(0).toTimeString(), String(new Date(Number.NaN)), new Date(0) + 1]";
  expect(await guest(expression)).toEqual([
    "Thu Jan 01 1970 00:00:00 GMT+0000 (Coordinated Universal Time)",
    "00:00:00 GMT+0000 (Coordinated Universal Time)",
    "Invalid Date",
    "Thu Jan 01 1970 00:00:00 GMT+0000 (Coordinated Universal Time)1",
  ]);
});

describe("modules", () => {
  test.each([
    [
      "path",
      "(() => { const p = require('path'); return [p.join('/a', '../b', 'c.txt'), p.basename('/x/y.js', '.js'), p.extname('a.b.c'), p.resolve('/a', 'b'), p.dirname('/a/b'), p.parse('/a/b.c'), p.relative('/a/b', '/a/c'), p.sep, p.isAbsolute('a'), p === require('path').posix, require('node:path') === p]; })()",
    ],
    [
      "assert",
      "[() => require('assert')(1), () => require('assert')(0, 'no'), () => require('assert').deepStrictEqual({ a: [1] }, { a: [1] }), () => require('assert').deepStrictEqual({ a: 1 }, { a: '1' }), () => require('assert').strict.equal(1, 2), () => require('assert/strict')(false), () => require('assert').throws(() => { throw new TypeError('x'); }, TypeError)].map((f) => { try { f(); return 'fine'; } catch (e) { return [e.name, e.code]; } })",
    ],
    ["punycode", "[require('punycode').toASCII('mañana.com'), require('punycode').decode('maana-pta')]"],
    ["querystring", "require('querystring').parse('a=1&b=2&a=3')"],
    [
      "querystring, escaping",
      "(() => { const q = require('querystring'); return [q.escape('ä b&c'), q.unescape('%C3%A4%20b'), q.unescape('100% %41'), q.unescape('%ff')]; })()",
    ],
    [
      "stream.finished of streams that have ended",
      "await (async () => { const { Readable, Writable, finished, promises } = require('stream'); const w = new Writable({ write(c, e, done) { done(); } }); w.end('a'); const r = Readable.from(['a']); r.resume(); await new Promise((ok) => setTimeout(ok, 5)); await promises.finished(w); await promises.finished(r); return new Promise((ok) => { const cancel = finished(w, () => ok('not cancelled')); cancel(); finished(w, { readable: false }, () => ok('ended')); }); })()",
    ],
    [
      "url, the older functions",
      "(() => { const { href, auth, host, query, path } = require('url').parse('/relative?x=1', true); const u = require('url').parse('https://u:p@a.com:8080/p?q=1#h'); return [href, auth, host, query, path, u.port, u.auth, require('url').resolve('/one/two', '../three'), require('url').format({ protocol: 'https', host: 'a.com', pathname: '/b', query: { c: 1 } })]; })()",
    ],
    [
      "url, the newer functions",
      "(() => { const { urlToHttpOptions, domainToASCII, fileURLToPath } = require('url'); const o = urlToHttpOptions(new URL('https://u:p@a.com:81/b?c')); return [o.hostname, o.port, o.path, o.auth, domainToASCII('español.com'), fileURLToPath('file:///a/b')]; })()",
    ],
    [
      "util.promisify",
      "await Promise.all([require('util').promisify((a, done) => done(null, a + 1))(1), require('util').promisify((done) => done(new Error('no')))().catch((e) => e.message), require('util').promisify(Object.assign(() => {}, { [require('util').promisify.custom]: () => 'own' }))()])",
    ],
    [
      "util.inherits",
      "(() => { const util = require('util'); function A() {} function B() {} util.inherits(B, A); return [new B() instanceof A, B.super_ === A]; })()",
    ],
    [
      "util, more of it",
      "(() => { const u = require('util'); return [u.isDeepStrictEqual({ a: [1, { b: 2 }] }, { a: [1, { b: 2 }] }), u.isDeepStrictEqual([1], ['1']), u.stripVTControlCharacters('\\u001b[31mred\\u001b[0m'), u.types.isRegExp(/x/), require('util/types').isPromise(Promise.resolve()), u.toUSVString('a\\ud800'), u.inspect.custom === Symbol.for('nodejs.util.inspect.custom'), typeof u.callbackify, typeof u.TextEncoder]; })()",
    ],
    [
      "events",
      "await (async () => { const E = require('events'); const e = new E(); setTimeout(() => e.emit('x', 5), 1); const [v] = await E.once(e, 'x'); return [v, E.EventEmitter === E, e.listenerCount('x')]; })()",
    ],
    [
      "stream/promises",
      "await (async () => { const { pipeline } = require('stream/promises'); const { Readable, Writable, promises } = require('stream'); const parts = []; await pipeline(Readable.from(['a', 'b']), new Writable({ objectMode: true, write(c, e, done) { parts.push(String(c)); done(); } })); return [parts, typeof promises.finished]; })()",
    ],
    [
      "timers/promises",
      "await (async () => { const t = require('timers/promises'); const seen = []; for await (const v of t.setInterval(1, 'i')) { seen.push(v); if (seen.length === 2) break; } return [await t.setTimeout(1, 'a'), await t.setImmediate('b'), seen, await t.setTimeout(1000, 'x', { signal: AbortSignal.abort() }).catch((e) => e.name)]; })()",
    ],
    [
      "string_decoder",
      "(() => { const d = new (require('string_decoder').StringDecoder)('utf8'); return [d.write(Buffer.from([0xe2, 0x82])), d.write(Buffer.from([0xac])), d.end()]; })()",
    ],
    [
      "os",
      "(() => { const os = require('os'); return [os.EOL, os.platform(), os.type(), os.endianness(), os.constants.signals.SIGTERM, os.constants.errno.ENOENT]; })()",
    ],
    [
      "buffer",
      "(() => { const b = require('buffer'); return [typeof b.Buffer, b.constants.MAX_LENGTH > 1e9, b.atob('aGk='), b.btoa('hi')]; })()",
    ],
    ["tty and perf_hooks", "[require('tty').isatty(1), typeof require('perf_hooks').performance.now()]"],
    [
      "http",
      "[require('http').STATUS_CODES[404], require('http').METHODS.includes('PATCH'), new (require('https').Agent)({ keepAlive: true }).options.keepAlive]",
    ],
    ["a slash after a name", "require('punycode/') === require('punycode')"],
  ])("%s", async (name, expression) => {
    if (name === "a slash after a name") expect(await guest(expression)).toBe(true);
    else await same(name, expression);
  });

  test("parts of a package by their own names", async () => {
    expect(
      await guest("[require('lodash/chunk')([1, 2, 3], 2), require('lodash/fp') === undefined]").catch(
        (error: Error) => error.message,
      ),
    ).toContain("Cannot find module 'fp' in its package.");
    expect(
      await guest(
        "[require('lodash/chunk')([1, 2, 3], 2), require('crypto-js/sha256')('a').toString().slice(0, 8), typeof require('aws-sdk/clients/s3')]",
      ),
    ).toEqual([[[1, 2], [3]], "ca978112", "function"]);
  });
});

describe("zlib", () => {
  const text = "JSON.stringify(Array.from({ length: 500 }, (_, i) => ({ i, name: 'item ' + i })))";

  test.each([
    ["gzip", "zlib.gunzipSync(zlib.gzipSync(text)).toString() === text"],
    ["deflate", "zlib.inflateSync(zlib.deflateSync(text, { level: 9 })).toString() === text"],
    ["raw", "zlib.inflateRawSync(zlib.deflateRawSync(Buffer.from(text))).toString() === text"],
    ["unzip", "zlib.unzipSync(zlib.gzipSync(text)).toString() === text"],
    [
      "brotli",
      "zlib.brotliDecompressSync(zlib.brotliCompressSync(text, { params: { [zlib.constants.BROTLI_PARAM_QUALITY]: 5 } })).toString() === text",
    ],
    [
      "the same bytes",
      "[zlib.deflateSync(text, { level: 1 }).toString('base64'), zlib.deflateRawSync(text, { strategy: 3 }).toString('hex'), zlib.brotliCompressSync(text).toString('hex')]",
    ],
    [
      "a dictionary",
      "zlib.inflateSync(zlib.deflateSync('item 5', { dictionary: Buffer.from('item') }), { dictionary: Buffer.from('item') }).toString()",
    ],
    [
      "callbacks",
      "await new Promise((ok) => zlib.gzip(text, (e, b) => zlib.gunzip(b, (f, t) => ok([e, f, t.toString() === text]))))",
    ],
    [
      "a callback's error",
      "await new Promise((ok) => zlib.inflate(Buffer.from('no'), (e) => ok([e.code, e.errno, e.message])))",
    ],
    ["promises", "(await require('util').promisify(zlib.inflate)(zlib.deflateSync('x'))).toString()"],
    [
      "streams",
      "await (async () => { const { pipeline } = require('stream/promises'); const { Readable, Writable } = require('stream'); const parts = []; await pipeline(Readable.from([text.slice(0, 100), text.slice(100)]), zlib.createGzip(), zlib.createGunzip(), new Writable({ write(c, e, done) { parts.push(c); done(); } })); return Buffer.concat(parts).toString() === text; })()",
    ],
    [
      "a stream's error",
      "await new Promise((ok) => { const s = zlib.createInflate(); s.on('error', (e) => ok(e.code)); s.end(Buffer.from('no')); })",
    ],
    [
      "constants",
      "[zlib.constants.Z_BEST_COMPRESSION, zlib.Z_SYNC_FLUSH, zlib.constants.BROTLI_PARAM_QUALITY, zlib.codes.Z_DATA_ERROR, zlib.codes['-3']]",
    ],
    [
      "an output that would be too long",
      "(() => { try { zlib.inflateSync(zlib.deflateSync(Buffer.alloc(1e5)), { maxOutputLength: 1000 }); } catch (e) { return [e.code, e.message]; } })()",
    ],
    [
      "truncated data",
      "(() => { try { zlib.gunzipSync(zlib.gzipSync(text).subarray(0, 50)); } catch (e) { return [e.code, e.message]; } })()",
    ],
  ])("%s", async (_name, expression) => {
    const given = `(async () => { const zlib = require('zlib'); const text = ${text}; return (${expression}); })()`;
    expect(await guest(`await ${given}`)).toEqual(await here(`await ${given}`));
  });

  test.each([
    ["a bomb", "zlib.gunzipSync(Buffer.from(g, 'base64'))", "ERR_BUFFER_TOO_LARGE"],
    [
      "a bomb that is asked for",
      "zlib.gunzipSync(Buffer.from(g, 'base64'), { maxOutputLength: 2 ** 31 })",
      "ERR_BUFFER_TOO_LARGE",
    ],
    ["too much at once", "zlib.deflateSync(Buffer.alloc(17 * 1024 * 1024))", "ERR_ZLIB"],
  ])("%s is rejected", async (_name, expression, code) => {
    const { gzipSync } = await import("node:zlib");
    const g = gzipSync(Buffer.alloc(64 * 1024 * 1024)).toString("base64");
    const guarded = exporting(
      `({ args: g }) => { const zlib = require('zlib'); try { ${expression}; } catch (e) { return e.code; } }`,
    );
    expect(await opened.value(guarded, { args: { args: g } })).toBe(code);
  });

  test("slow inputs are compressed with less effort", async () => {
    // Random bits took 24 s at level 9 for 8 MB, and long runs 3 s at quality 11 for 1 MB.
    const code = exporting(
      "() => { const zlib = require('zlib'); const bits = Buffer.concat(Array.from({ length: 60 }, () => require('crypto').randomBytes(65536))).map((b) => b & 1); return [zlib.deflateSync(bits, { level: 9 }), zlib.brotliCompressSync(bits)].map((packed, i) => packed.length < bits.length / 4 && (i ? zlib.brotliDecompressSync(packed) : zlib.inflateSync(packed)).equals(bits)); }",
    );
    expect(await opened.value(code)).toEqual([true, true]);
    expect(opened.sandbox.metrics.threadsEnded).toBe(0);
  });
});
