import { afterAll, describe, expect, test } from "vitest";
import type { Json } from "../../../src/base/json.js";
import { HostFailure, type HostFetchRequest, type HostFetchResponse } from "../../../src/sandbox/host-calls.js";
import { exporting, openSandbox } from "../support/open-sandbox.js";

const opened = openSandbox({ threads: 2 });
afterAll(() => opened[Symbol.asyncDispose]());

const json = {
  status: 200,
  statusText: "OK",
  headers: [
    ["Content-Type", "application/json"],
    ["Set-Cookie", "a=1"],
    ["set-cookie", "b=2"],
    ["X-Many", "1"],
    ["x-many", "2"],
  ],
  body: { text: '{"a":[1]}' },
} satisfies HostFetchResponse;

/** Runs code against responses of a host, the last of which repeats: the requests, and the result of the code. */
async function exchange(
  expression: string,
  ...responses: readonly HostFetchResponse[]
): Promise<{ asked: HostFetchRequest[]; got: Json }> {
  const asked: HostFetchRequest[] = [];
  const fetch = async (request: HostFetchRequest) => {
    asked.push(request);
    return responses[Math.min(asked.length, responses.length) - 1] ?? json;
  };
  const got = await opened.value(exporting(`async () => ${expression}`), { hosts: { fetch } });
  return { asked, got };
}

const headersOf = (request: HostFetchRequest | undefined) =>
  Object.fromEntries((request?.headers ?? []).map(([name, value]) => [name.toLowerCase(), value]));

describe.each([
  ["fetch", "fetch"],
  ["node-fetch", "require('node-fetch')"],
])("%s", (_name, fetch) => {
  test("sends method, headers and body, and returns status, headers and body", async () => {
    const { asked, got } = await exchange(
      `{ const r = await ${fetch}('https://example.com/a?b=c', { method: 'post', headers: { 'X-A': '1', Accept: ['a', 'b'] }, body: JSON.stringify({ ü: 1 }) }); return [r.ok, r.status, r.statusText, r.url, r.headers.get('content-TYPE'), r.headers.get('x-many'), r.headers.raw()['set-cookie'], r.headers.has('nope'), await r.json()]; }`
        .replace(/^/, "(async () => ")
        .concat(")()"),
    );
    expect(asked).toEqual([
      {
        method: "POST",
        url: "https://example.com/a?b=c",
        headers: [
          ["accept", "a, b"],
          ["content-type", "text/plain;charset=UTF-8"],
          ["x-a", "1"],
        ],
        body: { base64: Buffer.from('{"ü":1}').toString("base64") },
        timeoutMs: undefined,
      },
    ]);
    expect(got).toEqual([
      true,
      200,
      "OK",
      "https://example.com/a?b=c",
      "application/json",
      "1, 2",
      ["a=1", "b=2"],
      false,
      { a: [1] },
    ]);
  });

  test("reads text, bytes and JSON, each once", async () => {
    const binary = { ...json, body: { base64: Buffer.from([0, 255, 128]).toString("base64") } };
    const { got } = await exchange(
      `Promise.all([${fetch}('https://e.com').then((r) => r.text()), ${fetch}('https://e.com').then((r) => r.buffer()).then((b) => b.toString('hex')), ${fetch}('https://e.com').then((r) => r.arrayBuffer()).then((b) => b.byteLength), ${fetch}('https://e.com').then(async (r) => { await r.clone().text(); await r.text(); try { await r.text(); } catch (e) { return e.message; } })])`,
      binary,
    );
    expect(got).toEqual(["\u0000\ufffd\ufffd", "00ff80", 3, "body used already"]);
  });

  test("sends forms and bytes", async () => {
    const { asked } = await exchange(
      `Promise.all([${fetch}('https://e.com', { method: 'POST', body: new URLSearchParams({ a: 'b c', d: 'ü' }) }), ${fetch}('https://e.com', { method: 'PUT', body: Buffer.from([1, 2]) })]).then(() => 1)`,
    );
    expect(headersOf(asked[0])["content-type"]).toBe("application/x-www-form-urlencoded;charset=UTF-8");
    expect(asked[0]?.body).toEqual({ base64: Buffer.from("a=b+c&d=%C3%BC").toString("base64") });
    expect(asked[1]?.body).toEqual({ base64: "AQI=" });
    expect(headersOf(asked[1])["content-type"]).toBeUndefined();
  });

  test("a response of 404 is not an error", async () => {
    const { got } = await exchange(
      `(async () => { const r = await ${fetch}('https://e.com'); return [r.ok, r.status]; })()`,
      { ...json, status: 404 },
    );
    expect(got).toEqual([false, 404]);
  });

  test("a failure is an error with a code", async () => {
    const failing = async () => {
      throw new HostFailure("ECONNREFUSED", "the destination refused the connection");
    };
    const code = exporting(
      `async () => { try { await ${fetch}('https://e.com/'); } catch (e) { return [e.name, e.code, e.message]; } }`,
    );
    expect(await opened.value(code, { hosts: { fetch: failing } })).toEqual([
      "FetchError",
      "ECONNREFUSED",
      "request to https://e.com/ failed, reason: the destination refused the connection",
    ]);
  });

  test("a time-out set by the caller", async () => {
    const slow = () => new Promise<HostFetchResponse>((resolve) => setTimeout(resolve, 2_000, json));
    const code = exporting(
      `async () => { try { await ${fetch}('https://e.com/', { timeout: 50 }); } catch (e) { return [e.type, e.code]; } }`,
    );
    expect(await opened.value(code, { hosts: { fetch: slow } })).toEqual(["request-timeout", "ETIMEDOUT"]);
  });

  test.each([
    ["an invalid URL", "'nowhere'"],
    ["a body with GET", "'https://e.com', { body: 'x' }"],
    ["an invalid header", "'https://e.com', { headers: { 'a b': '1' } }"],
    ["a header with a line end", "'https://e.com', { headers: { a: '1\\\\r\\\\nb: 2' } }".replace(/\\\\/g, "\\")],
  ])("%s is rejected before it is sent", async (_case, args) => {
    const { asked, got } = await exchange(`${fetch}(${args}).then(() => 'sent', (e) => e.name)`);
    expect([asked, got]).toEqual([[], "TypeError"]);
  });
});

describe("redirects", () => {
  const redirect = (status: number, location: string): HostFetchResponse => ({
    status,
    statusText: "",
    headers: [["Location", location]],
    body: { text: "" },
  });

  test("are followed hop by hop, and secrets stay with their host", async () => {
    const { asked, got } = await exchange(
      "(async () => { const r = await fetch('https://a.com/x', { method: 'POST', body: 'b', headers: { Authorization: 's', 'X-A': '1' } }); return [r.status, r.url]; })()",
      redirect(307, "/y"),
      redirect(303, "https://b.com/z"),
      json,
    );
    expect(asked.map(({ method, url }) => [method, url])).toEqual([
      ["POST", "https://a.com/x"],
      ["POST", "https://a.com/y"],
      ["GET", "https://b.com/z"],
    ]);
    expect(asked.map((request) => headersOf(request).authorization)).toEqual(["s", "s", undefined]);
    expect(asked.map((request) => headersOf(request)["x-a"])).toEqual(["1", "1", "1"]);
    expect(asked[2]?.body).toBeUndefined();
    expect(got).toEqual([200, "https://b.com/z"]);
  });

  test.each([
    ["fetch, 20 hops", "fetch('https://a.com').catch((e) => e.message)", 21],
    ["axios, 5 hops", "require('axios').get('https://a.com').catch((e) => e.message)", 6],
    [
      "axios, as many as configured",
      "require('axios').get('https://a.com', { maxRedirects: 2 }).catch((e) => e.message)",
      3,
    ],
  ])("end: %s", async (_name, expression, requests) => {
    const { asked, got } = await exchange(expression, redirect(302, "https://a.com"));
    expect(asked.length).toBe(requests);
    expect(got).toContain("maximum number of redirects exceeded");
  });

  test("are returned unchanged on request", async () => {
    expect(
      (await exchange("fetch('https://a.com', { redirect: 'manual' }).then((r) => r.status)", redirect(302, "/b"))).got,
    ).toBe(302);
    expect(
      (
        await exchange(
          "require('axios').get('https://a.com', { maxRedirects: 0, validateStatus: null }).then((r) => r.status)",
          redirect(302, "/b"),
        )
      ).got,
    ).toBe(302);
    expect(
      (await exchange("fetch('https://a.com', { redirect: 'error' }).catch((e) => e.name)", redirect(302, "/b"))).got,
    ).toBe("FetchError");
  });
});

describe("axios", () => {
  test("sends JSON and reads it", async () => {
    const { asked, got } = await exchange(
      "(async () => { const r = await require('axios').post('/p', { a: 1 }, { baseURL: 'https://e.com/v1/', headers: { 'X-A': 'b' }, params: { q: 'x y', l: [1, 2], n: null }, auth: { username: 'ü', password: 'p' } }); return [r.status, r.statusText, r.data, r.headers['content-type'], r.headers['set-cookie'], r.headers['x-many']]; })()",
    );
    expect(asked[0]).toMatchObject({
      method: "POST",
      url: "https://e.com/v1/p?q=x+y&l[]=1&l[]=2",
      body: { text: '{"a":1}' },
    });
    expect(headersOf(asked[0])).toEqual({
      "x-a": "b",
      accept: "application/json, text/plain, */*",
      "content-type": "application/json",
      authorization: `Basic ${Buffer.from("ü:p").toString("base64")}`,
    });
    expect(got).toEqual([200, "OK", { a: [1] }, "application/json", ["a=1", "b=2"], "1, 2"]);
  });

  test.each([
    ["axios(config)", "axios({ url: 'https://e.com', method: 'patch', data: 'x' })", "PATCH"],
    ["axios(url, config)", "axios('https://e.com', { method: 'delete' })", "DELETE"],
    ["axios.request", "axios.request({ url: 'https://e.com', method: 'OPTIONS' })", "OPTIONS"],
    ["axios.head", "axios.head('https://e.com')", "HEAD"],
    ["axios.put", "axios.put('https://e.com', { a: 1 })", "PUT"],
    ["the default export", "axios.default.get('https://e.com')", "GET"],
  ])("%s", async (_name, expression, method) => {
    const { asked } = await exchange(`(async () => { const axios = require('axios'); await ${expression}; })()`);
    expect(asked.map((request) => request.method)).toEqual([method]);
  });

  test("instances have their own defaults", async () => {
    const { asked } = await exchange(
      "(async () => { const axios = require('axios'); const api = axios.create({ baseURL: 'https://e.com/api', headers: { common: { 'X-C': '1' }, 'X-D': '2', post: { 'X-P': '3' } }, timeout: 1000 }); await api.get('things'); await api.post('/things', new URLSearchParams({ a: '1' })); await api.get('https://other.com/x'); })()",
    );
    expect(asked.map(({ url }) => url)).toEqual([
      "https://e.com/api/things",
      "https://e.com/api/things",
      "https://other.com/x",
    ]);
    expect(
      asked.map((request) => [headersOf(request)["x-c"], headersOf(request)["x-d"], headersOf(request)["x-p"]]),
    ).toEqual([
      ["1", "2", undefined],
      ["1", "2", "3"],
      ["1", "2", undefined],
    ]);
    expect(asked[1]?.body).toEqual({ text: "a=1" });
    expect(asked[0]?.timeoutMs).toBe(1_000);
  });

  test("a response other than 2xx is an error that contains it", async () => {
    const { got } = await exchange(
      "(async () => { const axios = require('axios'); try { await axios.get('https://e.com'); } catch (e) { return [axios.isAxiosError(e), e.isAxiosError, e.name, e.code, e.message, e.response.status, e.response.data, e.toJSON().status]; } })()",
      { ...json, status: 422, body: { text: '{"why":"because"}' } },
    );
    expect(got).toEqual([
      true,
      true,
      "AxiosError",
      "ERR_BAD_REQUEST",
      "Request failed with status code 422",
      422,
      { why: "because" },
      422,
    ]);
  });

  test("a missing response is an error without one", async () => {
    const failing = async () => {
      throw new HostFailure("ENOTFOUND", "the destination's name was not found");
    };
    const code = exporting(
      "async () => { try { await require('axios').get('https://e.com'); } catch (e) { return [e.code, e.message, e.response === undefined]; } }",
    );
    expect(await opened.value(code, { hosts: { fetch: failing } })).toEqual([
      "ENOTFOUND",
      "the destination's name was not found",
      true,
    ]);
    const slow = () => new Promise<HostFetchResponse>(() => {});
    const timing = exporting(
      "async () => { try { await require('axios').get('https://e.com', { timeout: 30 }); } catch (e) { return [e.code, e.message]; } }",
    );
    expect(await opened.value(timing, { hosts: { fetch: slow } })).toEqual([
      "ECONNABORTED",
      "timeout of 30ms exceeded",
    ]);
  });

  test("parses what it is configured to parse", async () => {
    const { got } = await exchange(
      "(async () => { const axios = require('axios'); const a = await axios.get('https://e.com', { responseType: 'arraybuffer' }); const t = await axios.get('https://e.com', { responseType: 'text' }); return [Buffer.isBuffer(a.data), a.data.toString(), t.data]; })()",
      { ...json, body: { text: "[1]" } },
    );
    expect(got).toEqual([true, "[1]", "[1]"]);
    expect(
      (
        await exchange("require('axios').get('https://e.com').then((r) => r.data)", {
          ...json,
          body: { text: "no json" },
        })
      ).got,
    ).toBe("no json");
  });
});

describe("https", () => {
  const collect =
    "const collect = (m) => new Promise((ok) => { let s = ''; m.setEncoding('utf8'); m.on('data', (c) => { s += c; }); m.on('end', () => ok(s)); });";

  test("https.request with options, a body in chunks, and a response as a stream", async () => {
    const { asked, got } = await exchange(
      `(async () => { ${collect} const https = require('https'); const m = await new Promise((ok, no) => { const r = https.request({ hostname: 'e.com', port: 8443, path: '/a?b', method: 'POST', headers: { 'Content-Type': 'text/plain', 'X-N': 5 } }, ok); r.on('error', no); r.setHeader('X-B', 'c'); r.write('one '); r.write(Buffer.from('two')); r.end(' three'); }); return [m.statusCode, m.statusMessage, m.headers['content-type'], m.headers['set-cookie'], m.rawHeaders.length, await collect(m)]; })()`,
    );
    expect(asked[0]).toMatchObject({
      method: "POST",
      url: "https://e.com:8443/a?b",
      body: { base64: Buffer.from("one two three").toString("base64") },
    });
    expect(headersOf(asked[0])).toEqual({ "content-type": "text/plain", "x-n": "5", "x-b": "c" });
    expect(got).toEqual([200, "OK", "application/json", ["a=1", "b=2"], 10, '{"a":[1]}']);
  });

  test.each([
    ["https.get of a URL", "require('https').get('https://e.com/x', ok)", "https://e.com/x"],
    [
      "of a URL object with options",
      "require('https').get(new URL('https://e.com/y'), { headers: { A: 'b' } }, ok)",
      "https://e.com/y",
    ],
    [
      "of url.parse",
      "require('https').get(require('url').parse('https://e.com:444/z?q=1'), ok)",
      "https://e.com:444/z?q=1",
    ],
    ["http.get", "require('http').get({ host: 'e.com' }, ok)", "http://e.com/"],
    ["node: names", "require('node:https').get('https://e.com/n', ok)", "https://e.com/n"],
  ])("%s", async (_name, expression, url) => {
    const { asked } = await exchange(`new Promise((ok, no) => ${expression}.on('error', no)).then(() => 1)`);
    expect(asked.map((request) => request.url)).toEqual([url]);
  });

  test("errors are emitted as events", async () => {
    const failing = async () => {
      throw new HostFailure("ECONNRESET", "the connection was lost");
    };
    const code = exporting(
      "() => new Promise((ok) => require('https').get('https://e.com').on('error', (e) => ok([e.code, e.message])))",
    );
    expect(await opened.value(code, { hosts: { fetch: failing } })).toEqual(["ECONNRESET", "the connection was lost"]);
    const slow = () => new Promise<HostFetchResponse>(() => {});
    const timing = exporting(
      "() => new Promise((ok) => { const seen = []; const r = require('https').get('https://e.com'); r.setTimeout(30, () => seen.push('timeout')); r.on('error', (e) => ok([...seen, e.code])); })",
    );
    expect(await opened.value(timing, { hosts: { fetch: slow } })).toEqual(["timeout", "ETIMEDOUT"]);
  });
});

describe("requests of hostile code to the host", () => {
  test.each([
    ["a body that is larger than allowed", "fetch('https://e.com', { method: 'POST', body: 'x'.repeat(2000000) })"],
    [
      "a thousand headers",
      "fetch('https://e.com', { headers: Object.fromEntries(Array.from({ length: 1000 }, (_, i) => ['h' + i, 'v'])) })",
    ],
    ["an invalid method", "fetch('https://e.com', { method: 'x'.repeat(1000) })"],
    [
      "a message that is not a request",
      "(() => { const r = new Request('https://e.com'); Object.prototype.toJSON = () => 'nonsense'; return fetch(r); })()",
    ],
    [
      "a message nested without end",
      "(() => { const r = new Request('https://e.com'); Object.prototype.toJSON = function () { delete Object.prototype.toJSON; let a = []; for (let i = 0; i < 500; i++) a = [a]; return { to: 'bt', method: 'tokenize', args: a }; }; return fetch(r); })()",
    ],
  ])("%s is rejected, and nothing else happens", async (_name, expression) => {
    const { asked, got } = await exchange(
      `${expression}.then(() => 'sent', (e) => { delete Object.prototype.toJSON; return e.name; })`,
    );
    expect([asked, got]).toEqual([[], "FetchError"]);
    expect(opened.sandbox.metrics.runnersEnded).toBe(0);
  });
});
