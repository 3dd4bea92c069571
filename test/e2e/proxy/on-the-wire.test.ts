import { once } from "node:events";
import { connect } from "node:http2";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { createAuthority } from "../../egress/certificates.js";
import { type RestClient, restClient } from "../../support/rest.js";
import { newTenant, type TestTenant } from "../../support/tenant.js";
import { type Destination, httpResponse, startDestination } from "./support/destination.js";
import { type MadeProxy, makeProxy } from "./support/proxies.js";
import { rawCall } from "./support/raw-call.js";

describe("a request through a proxy", () => {
  let tenant: TestTenant;
  let destination: Destination;
  let proxy: MadeProxy;
  let backEnd: RestClient & { readonly key: string };

  beforeAll(async () => {
    tenant = await newTenant();
    destination = await startDestination();
    backEnd = await tenant.backEnd();
    proxy = await makeProxy(tenant, { destination_url: `${destination.url}/base` });
  });
  afterAll(() => destination[Symbol.asyncDispose]());

  const raw = (line: string, headers: readonly string[] = [], body: Buffer | string = "") =>
    rawCall([`${line} HTTP/1.1`, `BT-API-KEY: ${backEnd.key}`, `BT-PROXY-KEY: ${proxy.key}`, ...headers], body);

  it.each(["GET", "POST", "PUT", "PATCH", "DELETE"])("can be sent with %s to the path and below it", async (method) => {
    expect((await raw(`${method} /proxy`)).status).toBe(200);
    expect(destination.last().line).toBe(`${method} /base HTTP/1.1`);
    expect((await raw(`${method} /proxy/a/b?c=d`)).status).toBe(200);
    expect(destination.last().line).toBe(`${method} /base/a/b?c=d HTTP/1.1`);
  });

  it.each([
    ["HEAD", 405],
    ["TRACE", 405],
    ["PROPFIND", 405],
    ["OPTIONS", 204],
  ])("cannot be sent with %s", async (method, expected) => {
    const before = destination.requests.length;
    const { status, header, body } = await raw(`${method} /proxy/a`);
    expect(destination.requests).toHaveLength(before);
    expect(status).toBe(expected);
    if (status === 405) expect(header("allow")).toBe("GET, POST, PUT, PATCH, DELETE");
    if (method === "TRACE") expect(JSON.parse(body.toString()).proxy_error.code).toBe("method_not_allowed");
  });

  it("uses the path alone if its request line names a host too, as for another proxy", async () => {
    expect((await raw("GET http://elsewhere.example/proxy/a?b")).status).toBe(200);
    expect(destination.last().line).toBe("GET /base/a?b HTTP/1.1");
    expect(destination.last().header("host")).toBe(`127.0.0.1:${destination.port}`);
    expect((await raw("GET http://elsewhere.example/tokens/proxy/a")).status).toBe(404);
  });

  it.each([
    ["/", "/base/"],
    ["/a//b///", "/base/a//b///"],
    ["/%41%7e%2C?%20=+&x", "/base/%41%7e%2C?%20=+&x"],
    ["/a;b=c,d:e@f!$&'()*+", "/base/a;b=c,d:e@f!$&'()*+"],
    ["?", "/base"],
    ["?a=1&a=2&&b=&=c&%zz", "/base?a=1&a=2&&b=&=c&%zz"],
    ["/p?q=http://x/y?z", "/base/p?q=http://x/y?z"],
    ["/caf%e9/%ff%fe/%zz/%", "/base/caf%e9/%ff%fe/%zz/%"],
    [`/${"long".repeat(2_000)}`, `/base/${"long".repeat(2_000)}`],
  ])("keeps the path and query %s byte for byte", async (sent, received) => {
    expect((await raw(`GET /proxy${sent}`)).status).toBe(200);
    expect(destination.last().line).toBe(`GET ${received} HTTP/1.1`);
  });

  it.each([
    ...["/..", "/a/../b", "/%2e%2e/b", "/a/.%2E", "/a%2f..%2fb", "/a\\..\\b", "/./a"],
    ...["/..;/admin", "/%2e%2e;/admin", "/%252e%252e/admin", "/..%5c..%5cadmin", "/%c0%ae%c0%ae/admin", "/.%09./admin"],
  ])("cannot leave the destination's base path with %s", async (path) => {
    const before = destination.requests.length;
    const { status, body } = await raw(`GET /proxy${path}`);
    expect({ status, asked: destination.requests.length - before }).toEqual({ status: 400, asked: 0 });
    expect(JSON.parse(body.toString()).proxy_error.errors).toEqual({
      path: ["must not hold . or .. as a segment"],
    });
  });

  it.each(["/%70roxy/x", "/prox%79/x", "/%70%72%6f%78%79/x"])(
    "never turns a part of the path into a part of the host: %s",
    async (path) => {
      const { status } = await raw(`GET ${path}`);
      if (status === 200) expect(destination.last().line).toBe("GET /base/x HTTP/1.1");
      else expect(status).toBe(404);
    },
  );

  it("takes the key from the query, and does not forward it in any spelling", async () => {
    for (const [query, left] of [
      [`?bt-proxy-key=${proxy.key}`, ""],
      [`?a=1&bt-proxy-key=${proxy.key}&b=%20`, "?a=1&b=%20"],
      [`?bt%2Dproxy-key=${proxy.key}&b`, "?b"],
    ]) {
      const { status } = await rawCall([`GET /proxy/q${query} HTTP/1.1`, `BT-API-KEY: ${backEnd.key}`]);
      expect(status).toBe(200);
      expect(destination.last().line).toBe(`GET /base/q${left} HTTP/1.1`);
    }
  });

  it("has the caller's headers in their case and order, without ours and the hop-by-hop ones", async () => {
    await raw(
      "POST /proxy",
      [
        "X-Zulu: 1",
        "x-alpha: 2",
        "X-ZULU: 3",
        "Authorization: Bearer of-the-destination",
        "Cookie: a=b; c=d",
        "X_Under-Score9: yes",
        "X.Dotted: no",
        "X~Tilde: no",
        "X!: no",
        "BT-TRACE-ID: trace-1",
        "bt-idempotency-key: none",
        "BT-Anything: no",
        "Keep-Alive: timeout=5",
        "TE: trailers",
        "Trailer: X-After",
        "Upgrade: h2c",
        "Expect: 100-continue",
        "Content-Type: application/octet-stream",
        "Content-Length: 3",
      ],
      "abc",
    );
    const { headers, body } = destination.last();
    expect(headers).toEqual([
      ["Host", `127.0.0.1:${destination.port}`],
      ["X-Zulu", "1"],
      ["x-alpha", "2"],
      ["X-ZULU", "3"],
      ["Authorization", "Bearer of-the-destination"],
      ["Cookie", "a=b; c=d"],
      ["X_Under-Score9", "yes"],
      ["Content-Type", "application/octet-stream"],
      ["Content-Length", "3"],
      ["Connection", "keep-alive"],
    ]);
    expect(body.toString()).toBe("abc");
  });

  it("sets KEEP-ALIVE and CONNECTION to any requested value", async () => {
    await raw("GET /proxy", ["BT-PROXY-KEEP-ALIVE: timeout=7, max=3", "bt-proxy-connection: x-Whatever"]);
    expect(destination.last().headers.slice(1)).toEqual([
      ["KEEP-ALIVE", "timeout=7, max=3"],
      ["CONNECTION", "x-Whatever"],
    ]);
    await raw("GET /proxy", ["BT-PROXY-CONNECTION: close"]);
    expect(destination.last().header("connection")).toBe("close");
  });

  it("has one cookie, with values inserted, if it came over HTTP/2 in pieces", async () => {
    const { body: token } = await backEnd("POST", "/tokens", { body: { type: "token", data: "of the token" } });
    const session = connect(inject("serverUrl"));
    const headers = { ":path": "/proxy", "bt-api-key": backEnd.key, "bt-proxy-key": proxy.key };
    const stream = session.request({ ...headers, cookie: ["a=1", `b={{ ${token.id} }}`, "c=3"], "x-own": ["d", "e"] });
    const [response] = await once(stream, "response");
    session.destroy();
    expect(response[":status"]).toBe(200);
    expect(destination.last().headers.filter(([name]) => name === "cookie")).toEqual([
      ["cookie", "a=1; b=of the token; c=3"],
    ]);
  });

  it("keeps the bytes of non-ASCII header values", async () => {
    await raw("GET /proxy", ["X-Name: J\xc3\xbcrgen"]);
    expect(destination.last().header("x-name")).toBe("J\xc3\xbcrgen");
  });

  it("keeps the length of a body that has one, and sends one without in chunks", async () => {
    await raw("POST /proxy", ["Content-Type: image/png", "Content-Length: 4"], Buffer.from([0x89, 0, 0xff, 0x7b]));
    expect(destination.last().header("content-length")).toBe("4");
    expect([...destination.last().body]).toEqual([0x89, 0, 0xff, 0x7b]);
    await raw(
      "POST /proxy",
      ["Content-Type: image/png", "Transfer-Encoding: chunked"],
      "2\r\nab\r\n1\r\nc\r\n0\r\n\r\n",
    );
    expect(destination.last().header("transfer-encoding")).toBe("chunked");
    expect(destination.last().body.toString()).toBe("abc");
  });

  it.each(["GET", "DELETE"])(
    "has a body with %s too if the caller sends one, and no length otherwise",
    async (method) => {
      await raw(`${method} /proxy`, ["Content-Type: application/json", "Content-Length: 9"], '{ "a": 1}');
      expect(destination.last().body.toString()).toBe('{ "a": 1}');
      await raw(`${method} /proxy`);
      expect(destination.last().header("content-length")).toBeUndefined();
      expect(destination.last().header("transfer-encoding")).toBeUndefined();
    },
  );

  it("may have any content type, even a malformed one", async () => {
    for (const type of ["nothing", "a/b;;", "multipart/form-data", "text/html; charset=utf-16", "*/*"]) {
      expect([type, (await raw("POST /proxy", [`Content-Type: ${type}`, "Content-Length: 2"], "hi")).status]).toEqual([
        type,
        200,
      ]);
      expect(destination.last().header("content-type")).toBe(type);
    }
    expect((await raw("POST /proxy", ["Content-Length: 2"], "hi")).status).toBe(200);
    expect(destination.last().body.toString()).toBe("hi");
  });

  it.each([
    ["both lengths", ["Content-Length: 5", "Transfer-Encoding: chunked"], "0\r\n\r\nGET /x HTTP/1.1\r\n\r\n"],
    ["two lengths", ["Content-Length: 0", "Content-Length: 30"], "GET /smuggled HTTP/1.1\r\nA: b\r\n\r\n"],
    ["a length with a sign", ["Content-Length: +5"], "hello"],
    ["a hidden encoding", ["Transfer-Encoding: xchunked"], "0\r\n\r\n"],
    ["a blank before the colon", ["Transfer-Encoding : chunked"], "0\r\n\r\n"],
    ["a folded header", ["X-A: b", " Transfer-Encoding: chunked"], ""],
    ["a bare line feed", ["X-A: b\nTransfer-Encoding: chunked"], "0\r\n\r\n"],
  ])("is rejected with %s", async (_, headers, body) => {
    const before = destination.requests.length;
    const { status } = await raw("POST /proxy", ["Content-Type: image/png", ...headers], body);
    expect({ status, asked: destination.requests.length - before }).toEqual({ status: 400, asked: 0 });
  });

  it("with too many headers is rejected as a whole or loses none", async () => {
    const { status } = await raw("GET /proxy", [`X-Long: ${"x".repeat(40_000)}`]);
    expect(status).toBe(431);
    const many = Array.from({ length: 190 }, (_, n) => `X-H${n}: ${n}`);
    expect((await raw("GET /proxy", many)).status).toBe(200);
    expect(destination.last().header("x-h189")).toBe("189");
  });

  it("goes to a trusted TLS destination, and no other", async () => {
    await using secure = await startDestination(httpResponse("200 OK", [], "secret"), inject("trustedIdentity"));
    const call = restClient(inject("serverUrl"), backEnd.key);
    const ephemeral = (url: string) => call("GET", "/proxy/x", { headers: { "BT-PROXY-URL": url } });
    expect(await ephemeral(`${secure.url}/p`)).toMatchObject({ status: 200, body: "secret" });
    expect(secure.last().line).toBe("GET /p/x HTTP/1.1");
    const outsider = await (await createAuthority()).issue(["localhost"], ["127.0.0.1"]);
    await using untrusted = await startDestination(httpResponse("200 OK", [], "secret"), outsider);
    const refused = await ephemeral(untrusted.url);
    expect(refused).toMatchObject({ status: 502, body: { proxy_error: { code: "destination_unreachable" } } });
    expect(refused.headers.has("BT-PROXY-DESTINATION-STATUS")).toBe(false);
  });
});
